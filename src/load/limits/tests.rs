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
async fn a_turn_that_waits_for_room_keeps_no_arrival_from_passing() {
    let gate = gate(Quotas {
        in_flight: Some(1),
        ..Quotas::default()
    });
    let slot = gate.try_enter().unwrap();
    let turn = gate.admit(ASK, None);
    let arrival = async {
        // The turn stands in line by now.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let pass = gate.admit(ASK, Some(slot)).await.unwrap();
        gate.settle(pass, answered(&usage(100, 10)));
    };
    let both = async { tokio::join!(turn, arrival) };
    let both = tokio::time::timeout(Duration::from_mins(1), both).await;
    let (turn, ()) = both.expect("neither waits for the other");
    assert_eq!(turn.unwrap().limited, Some(Duration::from_secs(1)));
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
    // From now on a little more than what was seen: 111 and 10.
    let third = gate.admit(ASK, None).await.unwrap();
    // An answer that counts nothing is billed at its bound.
    gate.settle(third, answered(&Usage::default()));
    assert_eq!(budget.spent(), Money(221));
    let fourth = gate.admit(ASK, None).await.unwrap();
    let fifth = gate.admit(ASK, None).await.unwrap();
    // 221 spent and 242 in flight: the sixth waits for the fourth's bill.
    let later = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        gate.settle(fourth, refused(&[]));
    };
    let (sixth, ()) = tokio::join!(gate.admit(ASK, None), later);
    assert_eq!(
        sixth.as_ref().unwrap().limited,
        Some(Duration::from_secs(3))
    );
    gate.settle(sixth.unwrap(), answered(&usage(100, 10)));
    gate.settle(fifth, answered(&usage(100, 10)));
    assert_eq!(budget.spent(), Money(421));
    let spent = gate.admit(ASK, None).await.unwrap_err();
    assert_eq!(
        spent.0,
        "0.000000000421 of 0.0000000005 USD are spent, and the next request may cost 0.000000000121"
    );
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_money_is_used_up_by_requests_side_by_side_as_by_one_after_the_other() {
    for at_once in [1, 4] {
        // Of a hundred tokens each costs ten: a tenth of what has to be set aside.
        let tariff = Tariff::new(
            |usage| usage.total.map(|total| Money(i128::from(total.0) / 10)),
            |prompt, _| Money(i128::from(prompt.0)),
        );
        let budget = Arc::new(Budget::new(Some(Money(500))));
        let quotas = Quotas::default();
        let gate = Gate::new(quotas, Arc::clone(&budget), tariff, Duration::from_mins(1));
        let session = async || {
            while let Ok(pass) = gate.admit(ASK, None).await {
                tokio::time::sleep(Duration::from_secs(1)).await;
                gate.settle(pass, answered(&usage(100, 10)));
            }
        };
        futures_util::future::join_all((0..at_once).map(|_| session())).await;
        // 390 and 111 for one more are 501.
        assert_eq!(budget.spent(), Money(390), "{at_once} at once");
    }
}

#[tokio::test(start_paused = true)]
async fn tokens_that_the_server_allows_are_taken_once_however_often_is_asked() {
    let gate = gate(Quotas {
        requests_per_minute: Some(2),
        ..Quotas::default()
    });
    let headers = [
        header("x-ratelimit-remaining-tokens", "200"),
        header("x-ratelimit-reset-tokens", "50s"),
    ];
    let counts = usage(100, 10);
    let first = gate.admit(ASK, None).await.unwrap();
    let second = gate.admit(ASK, None).await.unwrap();
    for pass in [first, second] {
        let ended = Settled {
            headers: &headers,
            ..answered(&counts)
        };
        gate.settle(pass, ended);
    }
    tokio::time::sleep(Duration::from_secs(20)).await;
    // Allowed for longer than the minute of the first two.
    gate.state().tokens = Some((200, Instant::now() + Duration::from_secs(70)));
    let third = gate.admit(ASK, None).await.unwrap();
    assert_eq!(third.limited, Some(Duration::from_secs(40)), "110 of 200");
    assert_eq!(gate.state().tokens.map(|(left, _)| left), Some(90));
}

#[tokio::test(start_paused = true)]
async fn a_queue_in_which_nobody_is_held_back_is_no_limit() {
    let gate = gate(Quotas::default());
    let turn = gate.queue.lock().await;
    let later = async {
        tokio::time::sleep(Duration::from_millis(3)).await;
        drop(turn);
    };
    let (behind, ()) = tokio::join!(gate.admit(ASK, None), later);
    assert_eq!(behind.unwrap().limited, None);
}

#[tokio::test(start_paused = true)]
async fn whoever_stands_behind_somebody_held_back_waits_for_that_limit_too() {
    let gate = gate(Quotas {
        in_flight: Some(2),
        ..Quotas::default()
    });
    let (first, second) = (gate.admit(ASK, None).await.unwrap(), gate.try_enter());
    assert!(second.is_ok());
    let counts = usage(100, 10);
    let later = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        drop(second);
        gate.settle(first, answered(&counts));
    };
    let (third, fourth, ()) = tokio::join!(gate.admit(ASK, None), gate.admit(ASK, None), later);
    for pass in [third, fourth] {
        assert_eq!(pass.unwrap().limited, Some(Duration::from_secs(5)));
    }
}

#[test]
fn an_account_allows_no_more_than_it_says_and_a_run_may_ask_for_less() {
    let own = |requests, tokens| Quotas {
        requests_per_minute: requests,
        tokens_per_minute: tokens,
        in_flight: Some(4),
    };
    let account = |requests, tokens| Rates {
        requests_per_minute: requests,
        tokens_per_minute: tokens,
    };
    for (flags, rates, expected) in [
        (own(None, None), account(None, None), own(None, None)),
        (
            own(None, None),
            account(Some(60), Some(9)),
            own(Some(60), Some(9)),
        ),
        (
            own(Some(30), None),
            account(Some(60), Some(9)),
            own(Some(30), Some(9)),
        ),
        (
            own(Some(90), Some(5)),
            account(Some(60), Some(9)),
            own(Some(60), Some(5)),
        ),
    ] {
        assert_eq!(flags.within(rates), expected);
    }
}

/// An earlier session's requests cost what they cost while they were sent: one that says
/// nothing costs the most that it may, one that was refused nothing.
#[test]
fn what_earlier_sessions_spent_is_reckoned_by_the_same_rule() {
    let tariff = Tariff::new(
        |usage| usage.total.map(|total| Money(i128::from(total.0))),
        |prompt, output| Money(i128::from(10 * prompt.0 + 10 * output.0)),
    );
    let gate = Gate::new(Quotas::default(), Arc::default(), tariff, Duration::ZERO);
    let nothing = Usage::default;
    let spent = |requests: &[(Outcome, Usage)]| {
        let requests = requests.iter().cloned();
        let asked: Vec<_> = requests
            .map(|(outcome, usage)| (ASK, outcome, usage))
            .collect();
        gate.spent(&asked).0
    };
    assert_eq!(spent(&[(Outcome::Ok, usage(100, 10))]), 100);
    assert_eq!(spent(&[(Outcome::Http429, nothing())]), 0);
    // Half of 400 bytes as tokens, and an answer of 10.
    assert_eq!(spent(&[(Outcome::Timeout, nothing())]), 2_100);
    // Once an answer has counted a quarter: a little more than that, rounded up.
    let both = [(Outcome::Timeout, nothing()), (Outcome::Ok, usage(100, 10))];
    assert_eq!(spent(&both), 10 * 111 + 100 + 100);
}
