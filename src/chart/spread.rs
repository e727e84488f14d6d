//! Moves names apart that would else cover each other.

/// Moves boxes, given as middle and height, apart between `top` and `bottom`, as little and as
/// late as possible, without changing their order; gives the new middles in the order given.
pub(super) fn spread(wanted: &[(f64, f64)], top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].0.total_cmp(&wanted[b].0).then(a.cmp(&b)));
    let mut places: Vec<f64> = wanted.iter().map(|(y, _)| *y).collect();
    let mut floor = top;
    for &index in &order {
        let half = wanted[index].1 / 2.0;
        places[index] = places[index].max(floor + half);
        floor = places[index] + half;
    }
    let mut ceiling = bottom;
    for &index in order.iter().rev() {
        let half = wanted[index].1 / 2.0;
        places[index] = places[index].min(ceiling - half);
        ceiling = places[index] - half;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_that_fit_stay_and_others_move_apart_in_order() {
        assert_eq!(
            spread(&[(50.0, 10.0), (20.0, 10.0)], 0.0, 100.0),
            [50.0, 20.0]
        );
        assert_eq!(
            spread(&[(50.0, 10.0), (50.0, 10.0)], 0.0, 100.0),
            [50.0, 60.0]
        );
        assert_eq!(
            spread(&[(100.0, 10.0), (100.0, 10.0)], 0.0, 100.0),
            [85.0, 95.0]
        );
        assert_eq!(spread(&[], 0.0, 100.0), Vec::<f64>::new());
    }
}
