//! Names of models, as vendors, clouds and gateways write them.
//!
//! One model has many: `claude-opus-5.5`, `anthropic/claude-opus-5-5`,
//! `us.anthropic.claude-opus-5-5-20260922-v1:0` and the ARN of its inference
//! profile. What stands in front says who serves it and where, what stands behind
//! which build of it.
//!
//! Invariant: a name that goes on with anything but a build is another model
//! (`gpt-5.5-pro` is no `gpt-5.5`, `gpt-oss-120b:free` no `gpt-oss-120b`).

/// Where a cloud serves a model, as the first word of its name.
const REGIONS: &[&str] = &[
    "us", "eu", "apac", "ap", "jp", "au", "ca", "sa", "global", "us-gov",
];

/// Who made it, as the word behind the region.
const MAKERS: &[&str] = &["anthropic", "amazon", "openai"];

/// A model's name without who serves it, in lowercase and with hyphens for dots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelName {
    /// The same with what stands in front.
    whole: String,
    core: String,
}

impl ModelName {
    /// Reads any way of writing it; an empty name is no model's.
    pub fn new(name: &str) -> Self {
        let lower = name.trim().to_lowercase();
        let last = lower.rsplit('/').next().unwrap_or(&lower);
        Self {
            core: hyphens(without_place(last)),
            whole: hyphens(&lower),
        }
    }

    /// Whether it is the model `id`, in any build. An `id` with a provider in front
    /// (`groq/gpt-oss-120b`) is meant as that provider serves it.
    pub fn is(&self, id: &str) -> bool {
        let id = hyphens(&id.to_lowercase());
        self.whole == id || self.build(&id).is_some_and(is_build)
    }

    /// What stands in front of its last `/`: a gateway's name of who serves it.
    pub fn front(&self) -> Option<&str> {
        self.whole.rsplit_once('/').map(|(front, _)| front)
    }

    /// Whether it is of the family `pattern`: an id, or the start of one in front of
    /// a `*`, which ends at a word (`gpt-5.4*` is `gpt-5.4-mini` and no `gpt-5.41`).
    /// A lone `*` is every model.
    pub fn is_of(&self, pattern: &str) -> bool {
        match pattern.strip_suffix('*') {
            None => self.is(pattern),
            Some("") => !self.core.is_empty(),
            Some(start) => {
                let rest = self.build(&hyphens(start));
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', ':', '@']))
            }
        }
    }

    /// What stands behind `id`.
    fn build(&self, id: &str) -> Option<&str> {
        let name = if id.contains('/') {
            &self.whole
        } else {
            &self.core
        };
        name.strip_prefix(id)
    }
}

fn hyphens(text: &str) -> String {
    text.replace(['.', '_'], "-")
}

/// A cloud's name without region and maker (`us.anthropic.`).
fn without_place(name: &str) -> &str {
    let after = |name: &'_ str, known: &[&str]| {
        let (head, _) = name.split_once('.')?;
        known.contains(&head).then_some(head.len() + 1)
    };
    let name = &name[after(name, REGIONS).unwrap_or(0)..];
    &name[after(name, MAKERS).unwrap_or(0)..]
}

/// Whether `rest`, behind a model's id, says no more than which build it is:
/// nothing, `latest`, a date, a version (`v1:0`), or both.
fn is_build(rest: &str) -> bool {
    if rest.is_empty() {
        return true;
    }
    let Some(rest) = rest.strip_prefix(['-', '@', ':']) else {
        return false;
    };
    rest == "latest" || is_version(rest) || {
        let (date, version) = behind_date(rest);
        date && (version.is_empty() || version.strip_prefix('-').is_some_and(is_version))
    }
}

/// `v1`, `v1:0`; also three digits with a leading zero (`001`).
fn is_version(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.strip_prefix('v') {
        Some(version) => version.split(':').all(digits) && version.split(':').count() <= 2,
        None => text.len() == 3 && text.starts_with('0') && digits(text),
    }
}

/// Whether a date stands in front (`20260922`, `2026-09-22`), and what follows it.
fn behind_date(text: &str) -> (bool, &str) {
    for form in ["20######", "20##-##-##"] {
        let same = |(byte, expected): (u8, u8)| match expected {
            b'#' => byte.is_ascii_digit(),
            expected => byte == expected,
        };
        if text.len() >= form.len() && text.bytes().zip(form.bytes()).all(same) {
            return (true, &text[form.len()..]);
        }
    }
    (false, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_known_by_every_way_of_writing_it() {
        let cases = [
            ("claude-opus-5.5", "claude-opus-5.5"),
            ("claude-opus-5-5", "claude-opus-5.5"),
            ("Claude_Opus_5.5", "claude-opus-5.5"),
            ("anthropic/claude-opus-5-5-20260922", "claude-opus-5.5"),
            ("anthropic.claude-opus-5-5-v1:0", "claude-opus-5.5"),
            (
                "us.anthropic.claude-opus-5-5-20260922-v1:0",
                "claude-opus-5.5",
            ),
            (
                "arn:aws:bedrock:us-east-1:123:inference-profile/us.anthropic.claude-opus-5-5-v1:0",
                "claude-opus-5.5",
            ),
            ("claude-opus-5-5@20260922", "claude-opus-5.5"),
            ("gpt-5.5-2026-04-24", "gpt-5.5"),
            ("models/gemini-2.5-flash-001", "gemini-2.5-flash"),
            ("gemini-2.5-flash-latest", "gemini-2.5-flash"),
            ("groq/openai/gpt-oss-120b", "groq/openai/gpt-oss-120b"),
            ("eu.my-target", "eu.my-target"),
        ];
        for (written, id) in cases {
            assert!(ModelName::new(written).is(id), "{written}: {id}");
        }
    }

    #[test]
    fn a_model_whose_name_begins_alike_is_another() {
        let cases = [
            ("claude-opus-5-5-20260922-v1:0", "claude-opus-5"),
            ("claude-opus-4-1-20250805", "claude-opus-4"),
            ("gpt-5.5-pro", "gpt-5.5"),
            ("gpt-5.5", "gpt-5"),
            ("gpt-5.55", "gpt-5.5"),
            ("my-gpt-5.5", "gpt-5.5"),
            ("gpt-6.1-sol-mini", "gpt-6.1-sol"),
            ("openai/gpt-oss-120b", "groq/openai/gpt-oss-120b"),
            ("openai/gpt-oss-120b:free", "gpt-oss-120b"),
            ("gemini-3.1-pro-preview", "gemini-3.1-pro"),
            ("gpt-5.5-99999999", "gpt-5.5"),
            ("claude-opus-5-5-v1:0:1", "claude-opus-5.5"),
            (
                "arn:aws:bedrock:us-east-1:123:application-inference-profile/abc",
                "abc-model",
            ),
            ("", "gpt-5.5"),
        ];
        for (written, id) in cases {
            assert!(!ModelName::new(written).is(id), "{written}: {id}");
        }
    }

    #[test]
    fn a_family_ends_at_a_word() {
        let cases = [
            ("gpt-5.4", "gpt-5.4*", true),
            ("gpt-5.4-mini-2026-03-05", "gpt-5.4*", true),
            ("gpt-5.41", "gpt-5.4*", false),
            ("gpt-6-luna", "gpt-6*", true),
            ("openai/gpt-6.2-sol", "gpt-6*", true),
            ("gpt-60", "gpt-6*", false),
            ("grok-4.7", "grok*", true),
            ("anything", "*", true),
            ("", "*", false),
            ("gpt-5.5-pro", "gpt-5.5", false),
        ];
        for (written, pattern, expected) in cases {
            assert_eq!(
                ModelName::new(written).is_of(pattern),
                expected,
                "{written}: {pattern}"
            );
        }
    }

    #[test]
    fn who_serves_it_stands_in_front() {
        let front = |name: &str| ModelName::new(name).front().map(str::to_owned);
        assert_eq!(
            front("deepseek/deepseek-v4-pro").as_deref(),
            Some("deepseek")
        );
        assert_eq!(
            front("Fireworks_AI/accounts/x").as_deref(),
            Some("fireworks-ai/accounts")
        );
        assert_eq!(front("gpt-5.5"), None);
    }

    #[test]
    fn names_of_other_scripts_are_names() {
        for name in ["模型", "é.b", "us.", ".", "/", "us.anthropic."] {
            assert!(!ModelName::new(name).is("gpt-5.5"), "{name}");
        }
        assert!(!ModelName::new("gpt-5.5-日本語テスト").is("gpt-5.5"));
    }
}
