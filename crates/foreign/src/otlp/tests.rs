use hprof_stacks::pictures::message::Message;

use super::*;

#[test]
fn an_answer_says_what_is_rejected() {
    let mut partly = Message::default();
    partly.number(1, 3);
    partly.bytes(2, b"too old");
    let mut answer = Message::default();
    answer.bytes(1, &partly.0);
    assert_eq!(rejected(&answer.0), Some((3, "too old".to_owned())));
    for none in [&b""[..], b"<html>", &[10, 0]] {
        assert_eq!(rejected(none), None, "{none:?}");
    }
}
