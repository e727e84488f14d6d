//! Load models and limits of a plan. What they say is checked by the types that flags are
//! read by, and kept as text in the form that these show.

use super::Walk;
use crate::scenario::duration;
use crate::scenario::error::ScenarioError;
use crate::scenario::load::yaml::At;
use crate::scenario::pace::{Level, Sweep, Think, Until};
use crate::scenario::plan::grammar::{LimitsFile, PlanFile};
use crate::scenario::plan::model::Limits;
use crate::units::Tokens;
use std::path::Path;
use std::str::FromStr;

impl Walk {
    pub(super) fn limits(&mut self, file: &LimitsFile) -> Result<Limits, ScenarioError> {
        for (name, limit) in [("`requests`", &file.requests), ("`tokens`", &file.tokens)] {
            if let Some(zero) = limit.as_ref().filter(|limit| limit.value == 0) {
                return self.wrong(&zero.place, name, "must be at least 1");
            }
        }
        if let Some(usd) = &file.usd {
            if !usd.value.is_finite() || !(0.0..=1e9).contains(&usd.value) {
                let said = "must be an amount of dollars, 0 or more";
                return self.wrong(&usd.place, "`usd`", said);
            }
            self.set("max-usd", usd.value, &usd.place);
        }
        if let Some(in_flight) = &file.in_flight {
            self.at_least_one("in-flight", in_flight)?;
        }
        for (name, limit) in [
            ("requests-per-minute", &file.requests_per_minute),
            ("tokens-per-minute", &file.tokens_per_minute),
        ] {
            let Some(limit) = limit else { continue };
            if limit.value == 0 {
                let what = format!("`{}`", name.replace('-', "_"));
                return self.wrong(&limit.place, &what, "must be at least 1");
            }
            self.set(name, limit.value, &limit.place);
        }
        if let Some(wait) = &file.longest_wait {
            self.span("longest-wait", wait)?;
        }
        Ok(Limits {
            requests: file.requests.as_ref().map(|limit| limit.value),
            tokens: file.tokens.as_ref().map(|limit| Tokens(limit.value)),
        })
    }

    /// Load models, think time and sweeps, which are checked as the flags read them.
    pub(super) fn pace(&mut self, file: &PlanFile, folder: &Path) -> Result<(), ScenarioError> {
        let ways = [
            ("`sessions`", file.sessions.as_ref().map(|at| &at.place)),
            ("`load`", file.load.as_ref().map(|at| &at.place)),
            ("`sweep`", file.sweep.as_ref().map(|at| &at.place)),
        ];
        let mut named = ways.iter().filter(|(_, place)| place.is_some());
        if let (Some((first, _)), Some((second, Some(place)))) = (named.next(), named.next()) {
            let said =
                format!("stands beside {first}: only one of them says how conversations begin");
            return self.wrong(place, second, said);
        }
        if let Some(load) = &file.load {
            let levels = load.texts();
            if levels.is_empty() {
                return self.wrong(&load.place, "`load`", "is an empty list");
            }
            for at in levels {
                let level = self.read::<Level>("`load`", &at)?.within(folder);
                if let Level::Trace { file, .. } = &level
                    && !file.is_file()
                {
                    let said = format!("names the trace `{}`, which is no file", file.display());
                    return self.wrong(&at.place, "`load`", said);
                }
                self.set("load", level, &at.place);
            }
        }
        if let Some(sweep) = &file.sweep {
            let read = self.read::<Sweep>("`sweep`", sweep)?;
            self.set("sweep", read, &sweep.place);
        }
        if let Some(until) = &file.until {
            if file.sweep.is_none() {
                return self.wrong(&until.place, "`until`", "ends a sweep, and there is none");
            }
            for at in until.texts() {
                let rule = self.read::<Until>("`until`", &at)?;
                self.set("until", rule, &at.place);
            }
        }
        if let Some(think) = &file.think {
            let read = self.read::<Think>("`think`", think)?;
            self.set("think", read, &think.place);
        }
        if let Some(span) = &file.duration {
            self.span("duration", span)?;
        }
        Ok(())
    }

    fn read<T: FromStr<Err = String>>(
        &self,
        what: &str,
        at: &At<String>,
    ) -> Result<T, ScenarioError> {
        let wrong = |said: String| self.wrong(&at.place, what, format!("cannot be read: {said}"));
        at.value.parse().or_else(wrong)
    }

    /// A span of time above 0.
    fn span(&mut self, name: &'static str, at: &At<String>) -> Result<(), ScenarioError> {
        let what = format!("`{}`", name.replace('-', "_"));
        let span = duration::parse(&at.value).or_else(|said| self.wrong(&at.place, &what, said))?;
        if span.is_zero() {
            return self.wrong(&at.place, &what, "must be above 0");
        }
        self.set(name, duration::shown(span), &at.place);
        Ok(())
    }
}
