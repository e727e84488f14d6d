//! Addresses that were asked before, so that each is taken apart once.

use super::pool::Origin;
use reqwest::Url;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A run asks a handful; more are no longer the same ones again.
const MOST: usize = 64;

/// An address, as the parts of a request that name it.
#[derive(Debug)]
pub(super) struct Address {
    /// Who is asked, with the connections to it.
    pub(super) origin: Arc<Origin>,
    /// Its name and port, for the header.
    pub(super) host: String,
    /// Path and query.
    pub(super) path: String,
}

/// Addresses and whom they name. A clone shares them.
#[derive(Clone, Debug, Default)]
pub(super) struct Addresses(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    addresses: HashMap<String, Arc<Address>>,
    origins: HashMap<String, Arc<Origin>>,
}

impl Addresses {
    /// The parts of an address; `None` where it is none that HTTP can ask.
    pub(super) fn parts(&self, address: &str) -> Option<Arc<Address>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(parts) = known.addresses.get(address) {
            return Some(Arc::clone(parts));
        }
        let parts = Arc::new(known.parse(address)?);
        if known.addresses.len() == MOST {
            known.addresses.clear();
        }
        let address = address.to_owned();
        known.addresses.insert(address, Arc::clone(&parts));
        Some(parts)
    }
}

impl Known {
    fn parse(&mut self, address: &str) -> Option<Address> {
        let url = Url::parse(address).ok()?;
        let host = match (url.host_str()?, url.port()) {
            (host, Some(port)) => format!("{host}:{port}"),
            (host, None) => host.to_owned(),
        };
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        let name = url.origin().ascii_serialization();
        let origin = match self.origins.get(&name) {
            Some(origin) => Arc::clone(origin),
            None => Arc::new(Origin::new(http::Uri::try_from(&name).ok()?)),
        };
        self.origins.insert(name, Arc::clone(&origin));
        Some(Address { origin, host, path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_the_same_however_often_it_is_asked_and_their_number_is_bounded() {
        let addresses = Addresses::default();
        let first = addresses.parts("http://h/v1").expect("an address");
        for number in (0..MOST * 3).chain(0..3) {
            let parts = addresses.parts(&format!("http://h/{number}"));
            let parts = parts.expect("an address");
            assert_eq!(parts.path, format!("/{number}"));
            assert!(Arc::ptr_eq(&parts.origin, &first.origin), "one server");
            let known = addresses.0.lock().expect("not poisoned");
            assert!(known.addresses.len() <= MOST);
        }
    }

    #[test]
    fn an_address_is_taken_apart_as_a_request_names_it() {
        let cases = [
            ("http://h:80/a b?c=d e#f", Some(("h", "/a%20b?c=d%20e"))),
            ("https://H.example:8443", Some(("h.example:8443", "/"))),
            ("http://[::1]:8/v1/", Some(("[::1]:8", "/v1/"))),
            ("no address", None),
            ("mailto:a@b", None),
        ];
        for (address, expected) in cases {
            let parts = Addresses::default().parts(address);
            let named = parts.as_ref().map(|p| (p.host.as_str(), p.path.as_str()));
            assert_eq!(named, expected, "{address}");
        }
    }
}
