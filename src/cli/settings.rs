//! Settings with four sources: a flag goes before the environment, that before
//! a plan file, that before the default. Who decided is kept for the manifest.

use super::exit::Failure;
use crate::record::{Setting, SettingOrigin};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

/// The settings of a run, resolved one by one.
pub(super) struct Settings {
    environment: fn(&str) -> Option<String>,
    resolved: BTreeMap<String, Setting>,
}

impl Settings {
    /// Nothing resolved yet; variables are those of the process.
    pub(super) fn of_process() -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "the command line reads the environment"
        )]
        let environment = |name: &str| std::env::var(name).ok();
        Self {
            environment,
            resolved: BTreeMap::new(),
        }
    }

    /// Resolves `name`: the flag, else the variable `PREFIXBENCH_NAME`, else the default.
    ///
    /// # Errors
    ///
    /// A variable that does not parse, named with its value's fault.
    pub(super) fn resolve<T>(
        &mut self,
        name: &str,
        flag: Option<T>,
        default: T,
    ) -> Result<T, Failure>
    where
        T: FromStr + Clone + Display,
        T::Err: Display,
    {
        let variable = format!("PREFIXBENCH_{}", name.to_uppercase().replace('-', "_"));
        let (value, origin) = match (flag, (self.environment)(&variable)) {
            (Some(value), _) => (value, SettingOrigin::Flag),
            (None, Some(text)) => (parsed(&variable, &text)?, SettingOrigin::Env),
            (None, None) => (default, SettingOrigin::Default),
        };
        let shown = Value::String(value.to_string());
        self.resolved.insert(
            name.to_owned(),
            Setting {
                value: shown,
                origin,
            },
        );
        Ok(value)
    }

    /// Notes a setting that only a flag can make.
    pub(super) fn note(&mut self, name: &str, value: impl Into<Value>, given: bool) {
        let origin = if given {
            SettingOrigin::Flag
        } else {
            SettingOrigin::Default
        };
        self.resolved.insert(
            name.to_owned(),
            Setting {
                value: value.into(),
                origin,
            },
        );
    }

    /// All of them, for the manifest.
    pub(super) fn into_map(self) -> BTreeMap<String, Setting> {
        self.resolved
    }
}

fn parsed<T: FromStr>(variable: &str, text: &str) -> Result<T, Failure>
where
    T::Err: Display,
{
    text.trim().parse().map_err(|error| {
        Failure::wrong(
            format!("environment variable `{variable}` is `{text}`: {error}"),
            "correct it, unset it, or give the flag, which goes before it",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(environment: fn(&str) -> Option<String>) -> Settings {
        Settings {
            environment,
            resolved: BTreeMap::new(),
        }
    }

    #[test]
    fn a_flag_goes_before_the_environment_and_that_before_the_default() {
        let cases: [(Option<u32>, fn(&str) -> Option<String>, u32, SettingOrigin); 3] = [
            (Some(3), |_| Some("2".to_owned()), 3, SettingOrigin::Flag),
            (
                None,
                |name| (name == "PREFIXBENCH_MAX_TOKENS").then(|| "2".to_owned()),
                2,
                SettingOrigin::Env,
            ),
            (None, |_| None, 1, SettingOrigin::Default),
        ];
        for (flag, environment, expected, origin) in cases {
            let mut settings = with(environment);
            assert_eq!(settings.resolve("max-tokens", flag, 1).ok(), Some(expected));
            assert_eq!(settings.into_map()["max-tokens"].origin, origin);
        }
    }

    #[test]
    fn a_variable_that_does_not_parse_is_named() {
        let mut settings = with(|_| Some("many".to_owned()));
        let failure = settings.resolve("repeat", None, 1_u32).err().unwrap();
        assert!(
            failure
                .report
                .to_string()
                .contains("`PREFIXBENCH_REPEAT` is `many`")
        );
    }
}
