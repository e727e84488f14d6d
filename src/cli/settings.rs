//! Settings with four sources: a flag goes before the environment, that before
//! a plan file, that before the default. Who decided is kept for the manifest.

use super::exit::Failure;
use crate::record::{Setting, SettingOrigin};
use crate::scenario::plan::Plan;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

/// Reads a variable.
type Environment = Box<dyn Fn(&str) -> Option<String> + Send>;

/// The settings of a run, resolved one by one.
pub(super) struct Settings {
    environment: Environment,
    plan: BTreeMap<&'static str, Vec<String>>,
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
            environment: Box::new(environment),
            plan: BTreeMap::new(),
            resolved: BTreeMap::new(),
        }
    }

    /// Nothing resolved yet; variables are those that decided when a run was begun,
    /// whatever this process has.
    pub(super) fn of_run(settings: &BTreeMap<String, Setting>) -> Self {
        let by_variable = settings
            .iter()
            .filter(|(_, setting)| setting.origin == SettingOrigin::Env)
            .map(|(name, setting)| (variable(name), text(&setting.value)));
        let by_variable: BTreeMap<String, String> = by_variable.collect();
        Self {
            environment: Box::new(move |name| by_variable.get(name).cloned()),
            plan: BTreeMap::new(),
            resolved: BTreeMap::new(),
        }
    }

    /// Lets `plan` decide what neither flags nor the environment do.
    pub(super) fn follow(&mut self, plan: &Plan) {
        self.plan = plan.settings.clone();
    }

    /// Resolves `name`: the flag, else the variable `PREFIXBENCH_NAME`, else the
    /// plan, else the default.
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
        let (value, origin) = self
            .first(name, flag)?
            .unwrap_or((default, SettingOrigin::Default));
        let shown = Value::String(value.to_string());
        self.keep(name, shown, origin);
        Ok(value)
    }

    /// As [`resolve`](Self::resolve), for what has no default; not noted where nobody set it.
    pub(super) fn optional<T>(&mut self, name: &str, flag: Option<T>) -> Result<Option<T>, Failure>
    where
        T: FromStr + Clone + Display,
        T::Err: Display,
    {
        let first = self.first(name, flag)?;
        Ok(first.map(|(value, origin)| {
            self.keep(name, Value::String(value.to_string()), origin);
            value
        }))
    }

    /// As [`resolve`](Self::resolve), for a list; in a variable its values are
    /// separated by commas. An empty flag is one that was not given.
    pub(super) fn list<T>(
        &mut self,
        name: &str,
        flag: &[T],
        default: Vec<T>,
    ) -> Result<Vec<T>, Failure>
    where
        T: FromStr + Clone + Display,
        T::Err: Display,
    {
        self.list_by(name, ',', flag, default)
    }

    /// As [`list`](Self::list), with another separator in a variable: for values that
    /// have commas themselves.
    pub(super) fn list_by<T>(
        &mut self,
        name: &str,
        separator: char,
        flag: &[T],
        default: Vec<T>,
    ) -> Result<Vec<T>, Failure>
    where
        T: FromStr + Clone + Display,
        T::Err: Display,
    {
        let flag = (!flag.is_empty()).then(|| flag.to_vec());
        let given = self.chosen(name, flag, |text| text.split(separator).collect())?;
        let (values, origin) = given.unwrap_or((default, SettingOrigin::Default));
        let shown = values.iter().map(ToString::to_string).collect::<Vec<_>>();
        self.keep(name, Value::from(shown), origin);
        Ok(values)
    }

    fn first<T>(&self, name: &str, flag: Option<T>) -> Result<Option<(T, SettingOrigin)>, Failure>
    where
        T: FromStr,
        T::Err: Display,
    {
        let chosen = self.chosen(name, flag.map(|flag| vec![flag]), |text| vec![text])?;
        Ok(chosen.and_then(|(values, origin)| Some((values.into_iter().next()?, origin))))
    }

    /// What was chosen, and by whom; `None` where nobody chose. `split` parts a variable.
    fn chosen<T>(
        &self,
        name: &str,
        flag: Option<Vec<T>>,
        split: impl Fn(&str) -> Vec<&str>,
    ) -> Result<Option<(Vec<T>, SettingOrigin)>, Failure>
    where
        T: FromStr,
        T::Err: Display,
    {
        if let Some(values) = flag {
            return Ok(Some((values, SettingOrigin::Flag)));
        }
        let variable = variable(name);
        if let Some(text) = (self.environment)(&variable) {
            let values = split(&text).into_iter();
            let values = values.map(|value| parsed(&variable, value));
            return Ok(Some((
                values.collect::<Result<_, _>>()?,
                SettingOrigin::Env,
            )));
        }
        let Some(planned) = self.plan.get(name) else {
            return Ok(None);
        };
        let values = planned.iter().map(|text| {
            text.parse().map_err(|error| {
                let message = format!("`{name}` of the plan is `{text}`: {error}");
                Failure::wrong(message, "correct it in the plan file")
            })
        });
        Ok(Some((
            values.collect::<Result<_, _>>()?,
            SettingOrigin::Plan,
        )))
    }

    /// Who decides `name`, if anybody does.
    pub(super) fn who(&self, name: &str, flag: bool) -> Option<SettingOrigin> {
        if flag {
            Some(SettingOrigin::Flag)
        } else if (self.environment)(&variable(name)).is_some() {
            Some(SettingOrigin::Env)
        } else {
            self.plan.contains_key(name).then_some(SettingOrigin::Plan)
        }
    }

    fn keep(&mut self, name: &str, value: Value, origin: SettingOrigin) {
        self.resolved
            .insert(name.to_owned(), Setting { value, origin });
    }

    /// Notes a setting that only a flag can make.
    pub(super) fn note(&mut self, name: &str, value: impl Into<Value>, given: bool) {
        let origin = if given {
            SettingOrigin::Flag
        } else {
            SettingOrigin::Default
        };
        self.keep(name, value.into(), origin);
    }

    /// Notes what was drawn because of the setting `by`.
    pub(super) fn drawn(&mut self, name: &str, by: &str, value: impl Into<Value>) {
        let origin = self.resolved.get(by).map(|setting| setting.origin);
        let origin = origin.unwrap_or(SettingOrigin::Default);
        self.keep(name, value.into(), origin);
    }

    /// All of them, for the manifest.
    pub(super) fn into_map(self) -> BTreeMap<String, Setting> {
        self.resolved
    }
}

/// The variable of a setting.
fn variable(name: &str) -> String {
    format!("PREFIXBENCH_{}", name.to_uppercase().replace('-', "_"))
}

/// A value as a variable holds it.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(","),
        other => other.to_string(),
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
            environment: Box::new(environment),
            plan: BTreeMap::from([("max-tokens", vec!["4".to_owned()])]),
            resolved: BTreeMap::new(),
        }
    }

    #[test]
    fn a_flag_goes_before_the_environment_and_that_before_the_plan() {
        let cases: [(Option<u32>, fn(&str) -> Option<String>, u32, SettingOrigin); 3] = [
            (Some(3), |_| Some("2".to_owned()), 3, SettingOrigin::Flag),
            (
                None,
                |name| (name == "PREFIXBENCH_MAX_TOKENS").then(|| "2".to_owned()),
                2,
                SettingOrigin::Env,
            ),
            (None, |_| None, 4, SettingOrigin::Plan),
        ];
        for (flag, environment, expected, origin) in cases {
            let mut settings = with(environment);
            assert_eq!(settings.resolve("max-tokens", flag, 1).ok(), Some(expected));
            assert_eq!(settings.into_map()["max-tokens"].origin, origin);
        }
    }

    #[test]
    fn what_nobody_chose_has_its_default_or_is_not_noted() {
        let mut settings = with(|_| None);
        assert_eq!(settings.resolve("repeat", None, 7).ok(), Some(7));
        assert_eq!(settings.optional::<u32>("lifetime", None).ok(), Some(None));
        let resolved = settings.into_map();
        assert_eq!(resolved["repeat"].origin, SettingOrigin::Default);
        assert!(!resolved.contains_key("lifetime"));
    }

    #[test]
    fn a_list_is_one_variable_with_commas() {
        let mut settings = with(|name| (name == "PREFIXBENCH_SESSIONS").then(|| "1, 8".to_owned()));
        assert_eq!(
            settings.list("sessions", &[], vec![3]).ok(),
            Some(vec![1, 8])
        );
        assert_eq!(settings.list("sessions", &[2], vec![3]).ok(), Some(vec![2]));
        assert_eq!(settings.list("config", &[], vec![3]).ok(), Some(vec![3]));
        assert_eq!(
            settings.into_map()["sessions"].value,
            Value::from(vec!["2"])
        );
    }

    #[test]
    fn a_run_that_goes_on_has_the_variables_that_it_was_begun_with() {
        let mut begun = with(|name| match name {
            "PREFIXBENCH_REPEAT" => Some("5".to_owned()),
            "PREFIXBENCH_SESSIONS" => Some("1,8".to_owned()),
            _ => None,
        });
        assert_eq!(begun.resolve("repeat", None, 1).ok(), Some(5));
        assert_eq!(begun.resolve("seed", None, 1).ok(), Some(1));
        assert_eq!(begun.list("sessions", &[], vec![1]).ok(), Some(vec![1, 8]));
        let mut again = Settings::of_run(&begun.into_map());
        assert_eq!(again.resolve("repeat", None, 1).ok(), Some(5));
        assert_eq!(again.resolve("seed", None, 2).ok(), Some(2));
        assert_eq!(again.list("sessions", &[], vec![1]).ok(), Some(vec![1, 8]));
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
