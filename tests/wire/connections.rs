//! Connections: how many there are, when they are used again, and what they carry.

use super::*;

#[tokio::test]
async fn connections_are_kept_and_requests_arrive_as_they_were_written() {
    let server = Server::start(vec![one_write(&stream())]).await;
    let client = Client::new(&settings(), Instant::now()).expect("client");
    for _ in 0..3 {
        let exchange = sent(&client, outgoing(&server)).await;
        assert_whole("kept", &exchange);
    }
    assert_eq!(server.connections(), 1);
    let request = &server.requests()[0];
    let lower = request.to_ascii_lowercase();
    assert!(request.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"));
    assert!(request.ends_with("\r\n\r\n{\"model\":\"m\",\"stream\":true}"));
    assert!(
        lower.contains("content-length: 27\r\n")
            && lower.contains("content-type: application/json\r\n")
    );
    assert!(request.contains(KEY), "the key does reach the server");
}

#[tokio::test]
async fn a_connection_that_the_server_closed_while_idle_is_replaced() {
    let mut script = one_write(&stream());
    script.push(Act::Close);
    let server = Server::start(vec![script]).await;
    let client = Client::new(&settings(), Instant::now()).expect("client");
    for _ in 0..2 {
        let exchange = sent(&client, outgoing(&server)).await;
        assert_whole("closed while idle", &exchange);
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
    assert_eq!((server.connections(), server.requests().len()), (2, 2));
}

#[tokio::test]
async fn there_are_as_many_connections_as_requests_at_once() {
    let mut slow = vec![Act::Wait(5)];
    slow.extend(one_write(&stream()));
    let server = Server::start(vec![slow]).await;
    let client = Client::new(&settings(), Instant::now()).expect("client");
    for _ in 0..4 {
        let cancel = CancellationToken::new();
        let sent = (0..8).map(|_| client.send(outgoing(&server), &cancel));
        for exchange in futures_util::future::join_all(sent).await {
            assert_whole("at once", &exchange);
        }
    }
    assert_eq!((server.connections(), server.requests().len()), (8, 32));
}

#[tokio::test]
async fn a_connection_is_used_again_only_where_its_answer_says_where_it_ended() {
    let answer = |head: &str, body: &str| Act::Send(format!("{head}\r\n\r\n{body}").into_bytes());
    let json = "HTTP/1.1 200 OK\r\nContent-Type: application/json";
    let cases = [
        (
            "sized",
            vec![answer(&format!("{json}\r\nContent-Length: 2"), "{}")],
            1,
        ),
        (
            "interim",
            vec![
                answer("HTTP/1.1 100 Continue", ""),
                Act::Wait(2),
                answer(&format!("{json}\r\nContent-Length: 2"), "{}"),
            ],
            1,
        ),
        (
            "closing",
            vec![answer(
                &format!("{json}\r\nConnection: close\r\nContent-Length: 2"),
                "{}",
            )],
            2,
        ),
        (
            "more than was said",
            vec![answer(
                &format!("{json}\r\nContent-Length: 2"),
                "{}HTTP/1.1 200 OK",
            )],
            2,
        ),
        ("until closed", vec![answer(json, "{}"), Act::Close], 2),
        (
            "both lengths",
            vec![answer(
                &format!("{json}\r\nContent-Length: 3\r\nTransfer-Encoding: chunked"),
                "2\r\n{}\r\n0\r\n\r\n",
            )],
            2,
        ),
    ];
    for (case, script, connections) in cases {
        let server = Server::start(vec![script]).await;
        let client = Client::new(&settings(), Instant::now()).expect("client");
        for _ in 0..2 {
            let exchange = sent(&client, outgoing(&server)).await;
            assert_eq!(exchange.status, Some(200), "{case}: {:?}", exchange.error);
            assert_eq!(exchange.bytes_received, 2, "{case}");
        }
        assert_eq!(server.connections(), connections, "{case}");
    }
}

#[tokio::test]
async fn an_answer_that_comes_before_the_request_is_read_counts() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = async {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let said = b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\n{}";
        tokio::io::AsyncWriteExt::write_all(&mut stream, said)
            .await
            .expect("written");
        // Nothing of the request is ever read; the connection stays.
        stream
    };
    let client = Client::new(&settings(), Instant::now()).expect("client");
    let cancel = CancellationToken::new();
    let (exchange, stream) = tokio::join!(client.send(long(address, 64 << 20), &cancel), server);
    assert_eq!(exchange.status, Some(413), "{:?}", exchange.error);
    drop(stream);
}

/// A request of so many bytes.
fn long(address: std::net::SocketAddr, bytes: usize) -> Outgoing {
    Outgoing {
        url: format!("http://{address}/v1/chat/completions"),
        headers: Vec::new(),
        body: Bytes::from(vec![b'x'; bytes]),
        dialect: provider::find("openai-chat").expect("dialect"),
        stream: true,
        due: Micros(0),
    }
}

/// Where the server closes with bytes unread, the system resets the connection: the rest of
/// the request cannot be written, and the answer may be seen only after that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_counts_whose_server_has_closed_with_the_request_unread() {
    const TIMES: usize = 40;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = std::thread::spawn(move || {
        for stream in listener.incoming().take(TIMES) {
            let mut stream = stream.expect("a connection");
            let mut first = [0; 4];
            std::io::Read::read_exact(&mut stream, &mut first).expect("the beginning");
            let said =
                b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
            std::io::Write::write_all(&mut stream, said).expect("written");
        }
    });
    let client = Client::new(&settings(), Instant::now()).expect("client");
    for _ in 0..TIMES {
        let exchange = sent(&client, long(address, 8 << 20)).await;
        assert_eq!(exchange.status, Some(413), "{:?}", exchange.error);
        assert_eq!(exchange.outcome, Outcome::Http4xx, "{:?}", exchange.error);
    }
    server.join().expect("the server");
}

#[tokio::test]
async fn a_connection_that_the_target_wants_closed_carries_nothing_more() {
    let server = Server::start(vec![one_write(&stream())]).await;
    let client = Client::new(&settings(), Instant::now()).expect("client");
    for (value, connections) in [("x, Close", 2), ("keep-alive", 3)] {
        for _ in 0..2 {
            let mut request = outgoing(&server);
            request.headers.push(Header::plain("connection", value));
            assert_whole(value, &sent(&client, request).await);
        }
        assert_eq!(server.connections(), connections, "{value}");
    }
}

/// The limit is one from handing over to the head, whatever trickles in; an interim answer
/// is a sign of life.
#[tokio::test]
async fn a_head_has_its_limit_however_it_comes() {
    let mut limits = settings();
    limits.headers = Duration::from_millis(100);
    let piece = |text: &str| Act::Send(text.as_bytes().to_vec());
    let mut trickle = vec![piece("HTTP/1.1 200 OK\r\n")];
    let mut interim = Vec::new();
    for _ in 0..4 {
        trickle.extend([Act::Wait(60), piece("x-a: b\r\n")]);
        interim.extend([Act::Wait(60), piece("HTTP/1.1 102 Processing\r\n\r\n")]);
    }
    trickle.push(Act::Hang);
    interim.extend(one_write(&stream()));
    let slow = exchange_with(trickle, &limits).await;
    assert_eq!(slow.outcome, Outcome::Timeout, "{:?}", slow.error);
    assert_whole("interim", &exchange_with(interim, &limits).await);
}

#[tokio::test]
async fn a_header_that_cannot_be_sent_is_named_and_its_value_is_not() {
    let server = Server::start(vec![one_write(&stream())]).await;
    let client = Client::new(&settings(), Instant::now()).expect("client");
    let cases = [
        ("x-a", "hid\nden"),
        ("x a", "hidden"),
        ("Content-Length", "7"),
    ];
    for (name, value) in cases {
        let mut request = outgoing(&server);
        request.headers.push(Header::secret(name, value));
        let exchange = sent(&client, request).await;
        let told = exchange.error.unwrap_or_default();
        assert!(
            told.starts_with(&format!("the header `{name}` cannot be sent")),
            "{told}"
        );
        assert!(!told.contains("hid"), "{told}");
        assert_eq!(exchange.outcome, Outcome::Connect);
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_header_of_the_target_stands_in_for_ours() {
    let server = Server::start(vec![one_write(&stream())]).await;
    let client = Client::new(&settings(), Instant::now()).expect("client");
    let mut request = outgoing(&server);
    for (name, value) in [
        ("Host", "other.example"),
        ("User-Agent", "x"),
        ("X-Own", "1"),
    ] {
        request.headers.push(Header::plain(name, value));
    }
    sent(&client, request).await;
    let asked = server.requests()[0].to_ascii_lowercase();
    let said = |name: &str| -> Vec<String> {
        let lines = asked.lines().filter(|line| line.starts_with(name));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(said("host:"), ["host: other.example"]);
    assert_eq!(said("user-agent:"), ["user-agent: x"]);
    assert_eq!(said("x-own:"), ["x-own: 1"]);
    assert_eq!(said("accept"), ["accept: */*", "accept-encoding: identity"]);
}
