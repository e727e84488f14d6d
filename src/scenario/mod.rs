//! Scenario files: from YAML to a checked [`Scenario`](model::Scenario).

pub mod model;
