//! Addresses that were asked before, so that each is taken apart once.

use reqwest::Url;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A run asks a handful; more are no longer the same ones again.
const MOST: usize = 64;

/// Addresses and what they are made of. A clone shares them.
#[derive(Clone, Debug, Default)]
pub(super) struct Addresses(Arc<Mutex<HashMap<String, Url>>>);

impl Addresses {
    /// The parts of an address; `None` where it is none.
    pub(super) fn parts(&self, address: &str) -> Option<Url> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(parts) = known.get(address) {
            return Some(parts.clone());
        }
        let parts = Url::parse(address).ok()?;
        if known.len() == MOST {
            known.clear();
        }
        known.insert(address.to_owned(), parts.clone());
        Some(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_the_same_however_often_it_is_asked_and_their_number_is_bounded() {
        let addresses = Addresses::default();
        for number in (0..MOST * 3).chain(0..3) {
            let address = format!("http://h/{number}");
            let parts = addresses.parts(&address).expect("an address");
            assert_eq!(parts.as_str(), address);
            assert!(addresses.0.lock().expect("not poisoned").len() <= MOST);
        }
        assert_eq!(addresses.parts("no address"), None);
    }
}
