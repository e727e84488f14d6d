//! Paths of shapes that the drawing library does not know.

use super::scene::Area;

/// The corners of a rectangle, the first one again at the end.
pub(super) fn corners(area: Area) -> [(f64, f64); 5] {
    [
        (area.left, area.top),
        (area.right, area.top),
        (area.right, area.bottom),
        (area.left, area.bottom),
        (area.left, area.top),
    ]
}

/// Slanting lines that fill a rectangle, as one path that turns at its upper and lower edge.
///
/// One path and not a line each, since a prefix map has hundreds of such rectangles.
pub(super) fn hatch(area: Area) -> Vec<(f64, f64)> {
    const STEP: f64 = 5.0;
    let height = area.bottom - area.top;
    let mut path = Vec::new();
    let mut foot = area.left - height + STEP;
    let mut down = false;
    while foot < area.right {
        let point = |x: f64| {
            (
                x.clamp(area.left, area.right),
                area.bottom - (x.clamp(area.left, area.right) - foot),
            )
        };
        let (low, high) = (point(foot), point(foot + height));
        if down {
            path.extend([high, low]);
        } else {
            path.extend([low, high]);
        }
        down = !down;
        foot += STEP;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hatching_stays_in_its_rectangle_and_covers_it_from_edge_to_edge() {
        for (width, height) in [(1.0, 18.0), (18.0, 18.0), (300.0, 18.0), (7.0, 2.0)] {
            let area = Area::new(10.0, 20.0, width, height);
            let path = hatch(area);
            for (x, y) in &path {
                assert!((area.left..=area.right).contains(x), "{x} in {area:?}");
                assert!((area.top..=area.bottom).contains(y), "{y} in {area:?}");
            }
            let reach = |edge: f64| path.iter().any(|(x, _)| (x - edge).abs() < 5.0);
            assert!(reach(area.left) && reach(area.right), "{area:?}");
        }
    }

    #[test]
    fn an_empty_rectangle_has_no_hatching_outside_it() {
        let area = Area::new(10.0, 20.0, 0.0, 18.0);
        assert!(
            hatch(area)
                .iter()
                .all(|(x, _)| (x - 10.0).abs() < f64::EPSILON)
        );
    }
}
