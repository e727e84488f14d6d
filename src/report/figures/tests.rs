//! Names of files, and lengths.

use super::*;

#[test]
fn a_name_of_a_file_is_plain_and_free() {
    let mut names = Names::default();
    let cases = [
        (
            &["share-by-turn", "quickstart"][..],
            "share-by-turn-quickstart",
        ),
        (
            &["share-by-turn", "quickstart"],
            "share-by-turn-quickstart-2",
        ),
        (&["map", "Ünïcode ../../x"], "map-n-code-x"),
        (&["map", "n code x"], "map-n-code-x-2"),
        (&["", ""], ""),
    ];
    for (parts, expected) in cases {
        assert_eq!(names.free(parts), expected);
    }
    assert!(slug(&"x".repeat(500)).len() <= 100);
}
