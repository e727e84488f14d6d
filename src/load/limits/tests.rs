use super::*;
use crate::chat::UsageOrigin;

const ASK: Ask = Ask {
    bytes: 400,
    max_tokens: 10,
};

fn gate(quotas: Quotas) -> Gate {
    Gate::new(
        quotas,
        Arc::default(),
        Tariff::free(),
        Duration::from_mins(1),
    )
}

fn usage(total: u64, output: u64) -> Usage {
    Usage {
        total: Some(Tokens(total)),
        read: Some(Tokens(0)),
        output: Some(Tokens(output)),
        origin: UsageOrigin::Reported,
        ..Usage::default()
    }
}

fn answered(usage: &Usage) -> Settled<'_> {
    Settled {
        outcome: Outcome::Ok,
        usage: Some(usage),
        headers: &[],
    }
}

fn refused(headers: &[(String, String)]) -> Settled<'_> {
    Settled {
        outcome: Outcome::Http429,
        usage: None,
        headers,
    }
}

fn header(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

// Time is paused: the runtime jumps from timer to timer.
#[tokio::test(start_paused = true)]
async fn without_limits_nobody_waits() {
    let gate = gate(Quotas::default());
    for _ in 0..1_000 {
        let pass = gate.admit(ASK, None).await.unwrap();
        assert_eq!(pass.limited, None);
        gate.settle(pass, answered(&usage(100, 10)));
    }
}

#[tokio::test(start_paused = true)]
async fn requests_a_minute_are_kept_and_the_wait_is_told() {
    let gate = gate(Quotas {
        requests_per_minute: Some(3),
        ..Quotas::default()
    });
    let begun = Instant::now();
    let mut waits = Vec::new();
    for _ in 0..7 {
        let pass = gate.admit(ASK, None).await.unwrap();
        waits.push(pass.limited.map(|wait| wait.as_secs()));
        gate.settle(pass, answered(&usage(100, 10)));
    }
    let minute = Some(60);
    assert_eq!(waits, [None, None, None, minute, None, None, minute]);
    assert_eq!(begun.elapsed().as_secs(), 120);
}

#[tokio::test(start_paused = true)]
async fn tokens_are_estimated_before_and_counted_after_the_answer() {
    let gate = gate(Quotas {
        tokens_per_minute: Some(250),
        ..Quotas::default()
    });
    // Estimated: 100 and 10; the answer says 200 and 10.
    let pass = gate.admit(ASK, None).await.unwrap();
    gate.settle(pass, answered(&usage(200, 10)));
    let pass = gate.admit(ASK, None).await.unwrap();
    assert_eq!(pass.limited.map(|wait| wait.as_secs()), Some(60));
}

#[tokio::test(start_paused = true)]
async fn an_arrival_without_room_is_shed_and_a_turn_waits() {
    let gate = Arc::new(gate(Quotas {
        in_flight: Some(1),
        ..Quotas::default()
    }));
    let slot = gate.try_enter().unwrap();
    let pass = gate.admit(ASK, Some(slot)).await.unwrap();
    assert_eq!(gate.try_enter().unwrap_err(), Full);
    let later = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        gate.settle(pass, answered(&usage(100, 10)));
    };
    let (next, ()) = tokio::join!(gate.admit(ASK, None), later);
    assert_eq!(next.unwrap().limited, Some(Duration::from_secs(5)));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_a_pause_gets_it_from_everybody() {
    let gate = gate(Quotas::default());
    let pass = gate.admit(ASK, None).await.unwrap();
    let headers = [header("retry-after", "7")];
    let asked = gate.settle(pass, refused(&headers));
    assert_eq!(asked, Some(Duration::from_secs(7)));
    let pass = gate.admit(ASK, None).await.unwrap();
    assert_eq!(pass.limited, Some(Duration::from_secs(7)));
    let headers = [
        header("x-ratelimit-remaining-requests", "0"),
        header("x-ratelimit-reset-requests", "6m0s"),
    ];
    let pass_again = usage(100, 10);
    gate.settle(
        pass,
        Settled {
            headers: &headers,
            ..answered(&pass_again)
        },
    );
    let pass = gate.admit(ASK, None).await.unwrap();
    assert_eq!(
        pass.limited,
        Some(Duration::from_mins(1)),
        "and no longer than the longest wait"
    );
}

#[tokio::test(start_paused = true)]
async fn tokens_that_the_server_still_allows_are_not_exceeded() {
    let gate = gate(Quotas::default());
    let pass = gate.admit(ASK, None).await.unwrap();
    let headers = [
        header("x-ratelimit-remaining-tokens", "150"),
        header("x-ratelimit-reset-tokens", "30s"),
    ];
    let counts = usage(100, 10);
    gate.settle(
        pass,
        Settled {
            headers: &headers,
            ..answered(&counts)
        },
    );
    let fits = gate.admit(ASK, None).await.unwrap();
    assert_eq!(fits.limited, None, "110 of 150");
    let waits = gate.admit(ASK, None).await.unwrap();
    assert_eq!(waits.limited, Some(Duration::from_secs(30)));
}

#[tokio::test(start_paused = true)]
async fn money_is_set_aside_before_and_billed_after() {
    // A pico-dollar a token.
    let tariff = Tariff::new(
        |usage| usage.total.map(|total| Money(i128::from(total.0))),
        |prompt, output| Money(i128::from(prompt.0 + output.0)),
    );
    let budget = Arc::new(Budget::new(Some(Money(500))));
    let gate = Gate::new(
        Quotas::default(),
        Arc::clone(&budget),
        tariff,
        Duration::from_mins(1),
    );
    // Half of the bytes and the longest answer: 210 each.
    let first = gate.admit(ASK, None).await.unwrap();
    let second = gate.admit(ASK, None).await.unwrap();
    gate.settle(first, answered(&usage(100, 10)));
    // A refusal costs nothing.
    gate.settle(second, refused(&[]));
    assert_eq!(budget.spent(), Money(100));
    // From now on 110 % of what was seen: 120.
    let third = gate.admit(ASK, None).await.unwrap();
    // An answer that counts nothing is billed at its bound.
    gate.settle(third, answered(&Usage::default()));
    assert_eq!(budget.spent(), Money(220));
    let _fourth = gate.admit(ASK, None).await.unwrap();
    let _fifth = gate.admit(ASK, None).await.unwrap();
    let spent = gate.admit(ASK, None).await.unwrap_err();
    assert!(spent.0.contains("the next request may cost"), "{}", spent.0);
}
