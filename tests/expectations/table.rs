//! filled
