//! Whom a client trusts.

use super::settings::ClientError;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use std::sync::Arc;

/// TLS that trusts the machine's certificates and those of `ca` (PEM), and speaks
/// HTTP/1.1 behind it: with one request at a time on a connection, no answer waits
/// behind the bytes of another.
///
/// A machine without certificates of its own (a bare container) trusts those of
/// `ca` only.
pub(super) fn config(ca: Option<&[u8]>) -> Result<ClientConfig, ClientError> {
    let certificates = CertificateDer::pem_slice_iter(ca.unwrap_or_default())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| ClientError::Certificate(error.into()))?;
    let own = roots(&certificates)?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let versions = |provider: &Arc<CryptoProvider>| {
        ClientConfig::builder_with_provider(Arc::clone(provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| ClientError::Build(error.into()))
    };
    let builder = versions(&provider)?;
    let mut config = match Verifier::new_with_extra_roots(certificates, Arc::clone(&provider)) {
        Ok(verifier) => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth(),
        Err(_none) => builder.with_root_certificates(own).with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn roots(certificates: &[CertificateDer<'static>]) -> Result<RootCertStore, ClientError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        let added = roots.add(certificate.clone());
        added.map_err(|error| ClientError::Certificate(error.into()))?;
    }
    Ok(roots)
}
