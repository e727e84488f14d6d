//! Results to figures, figures to pictures.
//!
//! A figure is plain data that names neither files nor records. A chart lays a
//! figure out as a scene: pure, so that tests can ask whether a label is cut or
//! covered. One renderer paints scenes, as SVG and as PNG.
//!
//! Every picture says on itself what was measured, on what, when and how often,
//! and reads without colour: a picture is pasted somewhere without its page.
//!
//! A new chart is a file and a line in the list below.
//!
//! Invariants: the same figure gives the same bytes on every machine; a number
//! that was not measured is not drawn as 0.

mod colour;
pub mod cost_by_part;
mod document;
mod frame;
mod geometry;
mod letters;
pub mod lost_by_cause;
mod note;
mod panels;
pub mod prefix_map;
mod render;
mod scale;
mod scene;
pub mod share_by_group;
pub mod share_by_length;
pub mod share_by_load;
pub mod share_by_target;
pub mod share_by_turn;
mod spread;
mod stacked;
#[cfg(test)]
mod tests;
mod text;
pub mod ttft_by_computed;
pub mod ttft_distribution;

pub use cost_by_part::CostByPart;
pub use lost_by_cause::LostByCause;
pub use note::{Note, Source};
pub use prefix_map::PrefixMap;
pub use share_by_group::ShareByGroup;
pub use share_by_length::ShareByLength;
pub use share_by_load::ShareByLoad;
pub use share_by_target::ShareByTarget;
pub use share_by_turn::ShareByTurn;
pub use ttft_by_computed::TtftByComputed;
pub use ttft_distribution::TtftDistribution;

use scene::Scene;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A kind of picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chart {
    /// Its name: lowercase, unique, also the start of its files' names.
    pub name: &'static str,
    /// What it shows, in one sentence.
    pub help: &'static str,
}

/// A picture that could not be made.
#[derive(Debug, Error)]
pub enum ChartError {
    /// The drawing library failed.
    #[error("cannot draw the picture: {cause}")]
    Draw {
        /// What the library says.
        cause: String,
    },
    /// The pixels could not be packed.
    #[error("cannot encode the picture")]
    Encode {
        /// What the library says.
        source: png::EncodingError,
    },
}

/// Defines [`Figure`] and [`CHARTS`] from one line a chart.
macro_rules! charts {
    ($($(#[$doc:meta])* $kind:ident = $module:ident;)+) => {
        /// Every chart, in the order in which a report shows them.
        pub static CHARTS: &[Chart] = &[$($module::CHART,)+];

        /// What a picture shows, as data.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum Figure {
            $($(#[$doc])* $kind($kind),)+
        }

        impl Figure {
            /// The kind of picture.
            pub fn chart(&self) -> Chart {
                match self { $(Self::$kind(_) => $module::CHART,)+ }
            }

            fn scene(&self) -> Scene {
                match self { $(Self::$kind(figure) => $module::scene(figure),)+ }
            }
        }
    };
}

charts! {
    /// Cached share per configuration, by group.
    ShareByGroup = share_by_group;
    /// Targets side by side.
    ShareByTarget = share_by_target;
    /// Cached share and time to first token by load level.
    ShareByLoad = share_by_load;
    /// Cached share turn by turn, a line per configuration.
    ShareByTurn = share_by_turn;
    /// Tokens lost behind breaks, by what caused them.
    LostByCause = lost_by_cause;
    /// What a conversation costs, by what is billed.
    CostByPart = cost_by_part;
    /// How long first tokens take.
    TtftDistribution = ttft_distribution;
    /// Time to first token against computed tokens.
    TtftByComputed = ttft_by_computed;
    /// Cached share against prompt length.
    ShareByLength = share_by_length;
    /// The prompt of each turn to scale, with what was read from cache.
    PrefixMap = prefix_map;
}

impl Figure {
    /// The title on the picture; also its accessible name.
    pub fn title(&self) -> String {
        self.scene().title
    }

    /// What can be read in the picture, in words and numbers, for those who cannot see it.
    pub fn description(&self) -> String {
        self.scene().description
    }

    /// The picture as an SVG document. Text stays text; it reads on a light and on a dark page,
    /// and may be put into an HTML page as it is.
    ///
    /// # Errors
    ///
    /// [`ChartError::Draw`] when the drawing library fails.
    pub fn svg(&self) -> Result<String, ChartError> {
        render::svg(&self.scene())
    }

    /// The picture as a PNG file, on light paper, in twice the resolution of the SVG.
    ///
    /// # Errors
    ///
    /// [`ChartError`] when the libraries that draw and encode fail.
    pub fn png(&self) -> Result<Vec<u8>, ChartError> {
        render::png(&self.scene())
    }
}
