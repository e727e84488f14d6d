//! Layered prefixes: L1 instructions, L2 library, L3 context of the turn, L4 a
//! strip that no product fills, L5 the question.
//!
//! Three strategies share the envelope and its conversion to messages:
//! `copilot-3.1` and `copilot-4` build it as two releases of an editor's
//! assistant ship it, faults included; `layered` builds it as the design
//! behind them is documented, with segments as data from end to end.
//!
//! Invariant: only the two releases look for structure in rendered text, since
//! that is the behaviour under test in them.

mod autocompact;
mod blocks;
mod chains;
mod chatfile;
mod convert;
mod documented;
mod embed;
mod envelope;
mod files;
mod format;
mod frame;
mod library;
mod parse;
mod reduce;
mod release;
mod session;
mod shipped;
mod sources;
mod template;
mod turn;
mod units;

pub use chains::Output;
pub use convert::{Converted, Options as ConvertOptions, concat, convert, user_content};
pub(super) use documented::LAYERED;
pub use documented::{Base, Kept, Kind, Piece};
pub use envelope::{Envelope, Layer, LayerId, Metadata, Segment};
pub use files::Files;
pub use parse::segments as parse_segments;
pub use reduce::block as reduce_block;
pub use release::Release;
pub use session::{Answer, Attach, Reply, Request, ScriptedCall, Session, Settings, Spoken};
pub use shipped::BuiltTurn;
pub(super) use shipped::{COPILOT_3_1, COPILOT_4};
pub use turn::Item;
pub use units::repair_surrogates;
