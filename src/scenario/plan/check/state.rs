//! What a plan says of the state of caches: what begins on one of its own, by what means,
//! and what is sent before and behind it.

use super::Walk;
use crate::scenario::plan::grammar::{
    EvictionProbeFile, IsolateByFile, IsolateFile, PlanFile, WarmUpFile,
};

impl Walk {
    pub(super) fn state(&mut self, file: &PlanFile) {
        if let Some(isolate) = &file.isolate {
            let word = match isolate.value {
                IsolateFile::Conversation => "conversation",
                IsolateFile::Cell => "cell",
                IsolateFile::Run => "run",
                IsolateFile::None => "none",
            };
            self.set("isolate", word, &isolate.place);
        }
        if let Some(by) = &file.isolate_by {
            let word = match by.value {
                IsolateByFile::Auto => "auto",
                IsolateByFile::Salt => "salt",
                IsolateByFile::Nonce => "nonce",
                IsolateByFile::Reset => "reset",
            };
            self.set("isolate-by", word, &by.place);
        }
        if let Some(warm_up) = &file.warm_up {
            let word = match warm_up.value {
                WarmUpFile::None => "none",
                WarmUpFile::Prime => "prime",
                WarmUpFile::Isolate => "isolate",
            };
            self.set("warm-up", word, &warm_up.place);
        }
        if let Some(probe) = &file.eviction_probe {
            let word = match probe.value {
                EvictionProbeFile::Auto => "auto",
                EvictionProbeFile::On => "on",
                EvictionProbeFile::Off => "off",
            };
            self.set("eviction-probe", word, &probe.place);
        }
    }
}
