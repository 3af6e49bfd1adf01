//! The order of asking: the client first, then a page.

use std::future::pending;
use std::pin::{Pin, pin};

use crate::recipient::Recipient;

/// What a client is asked to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shows {
    Form,
    Url,
}

/// Has the client show a question, and asks it on a page if the client does not. The error is the
/// client's, if there is no page.
///
/// A client that has never answered may have declared what it does not show. After a while of
/// silence the page opens too, and the first answer counts.
pub(crate) async fn client_first<T, E, P>(
    recipient: &Recipient,
    shows: Shows,
    // Pinned by the caller: a future that is passed by value takes its room twice.
    mut by_client: Pin<&mut impl Future<Output = Result<T, E>>>,
    on_page: Option<impl FnOnce() -> P>,
) -> Result<T, E>
where
    P: Future<Output = T>,
{
    let Some(on_page) = on_page else {
        return by_client.await;
    };
    let silence = async {
        if recipient.has_answered() {
            return pending().await;
        }
        recipient.sleep(recipient.settings().native_silence).await;
    };
    tokio::select! {
        biased;
        reply = &mut by_client => return match reply {
            Ok(answer) => Ok(answer),
            Err(_) => Ok(on_page().await),
        },
        () = silence => {}
    }
    match shows {
        Shows::Form => recipient.note_silence(),
        Shows::Url => recipient.note_silence_about_urls(),
    }
    let mut on_page = pin!(on_page());
    tokio::select! {
        biased;
        reply = &mut by_client => if let Ok(answer) = reply {
            return Ok(answer);
        },
        answer = &mut on_page => {
            if shows == Shows::Form {
                recipient.distrust_native();
            }
            return Ok(answer);
        }
    }
    Ok(on_page.await)
}
