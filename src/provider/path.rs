//! Names that stand in a path.

use std::fmt::Write as _;

/// `text` as one segment of a path: everything but letters, digits and `-._~` in
/// percent form, so that an ARN's colons and slashes do not split the path.
pub(super) fn segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a text cannot fail.
            let _written = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::provider::find;

    #[test]
    fn a_model_is_one_segment_of_its_path() {
        let cases = [
            (
                "bedrock",
                "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-5-5-v1:0",
                "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.anthropic.claude-opus-5-5-v1%3A0/converse",
            ),
            (
                "bedrock",
                "anthropic.claude-opus-5-v1:0",
                "/model/anthropic.claude-opus-5-v1%3A0/converse",
            ),
            (
                "bedrock",
                "../secrets?a=b#c",
                "/model/..%2Fsecrets%3Fa%3Db%23c/converse",
            ),
            (
                "gemini",
                "gemini-2.5-flash",
                "/models/gemini-2.5-flash:generateContent",
            ),
            (
                "gemini",
                "models/gemini-2.5-flash",
                "/models/gemini-2.5-flash:generateContent",
            ),
            (
                "gemini",
                "google/gemma 4",
                "/models/google%2Fgemma%204:generateContent",
            ),
            (
                "gemini",
                "tunedModels/my-model",
                "/tunedModels/my-model:generateContent",
            ),
            (
                "gemini",
                "publishers/google/models/gemini-4-argon",
                "/publishers/google/models/gemini-4-argon:generateContent",
            ),
        ];
        for (dialect, model, expected) in cases {
            let path = find(dialect).expect(dialect).path(model, false);
            assert_eq!(path, expected, "{dialect} {model}");
        }
    }
}
