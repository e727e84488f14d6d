//! Results and figures to pages and tables.

pub mod html;
