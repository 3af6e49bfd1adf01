//! When a certificate is valid, read from its DER.

use der::asn1::{AnyRef, GeneralizedTime, UtcTime};
use der::{Decode as _, SliceReader, Tag, Tagged as _};

/// The period in which a certificate is valid, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Validity {
    pub(super) begins: i64,
    pub(super) ends: i64,
}

impl Validity {
    /// Reads the period of an X.509 certificate (RFC 5280, section 4.1), and nothing else of it.
    pub(super) fn of(certificate: &[u8]) -> der::Result<Self> {
        let certificate = AnyRef::from_der(certificate)?;
        let signed = AnyRef::decode(&mut inside(certificate)?)?;
        let mut fields = inside(signed)?;
        let first = AnyRef::decode(&mut fields)?;
        if first.tag().is_context_specific() {
            // That was the version, which may be absent.
            let _serial_number = AnyRef::decode(&mut fields)?;
        }
        let _signature_algorithm = AnyRef::decode(&mut fields)?;
        let _issuer = AnyRef::decode(&mut fields)?;
        let mut validity = inside(AnyRef::decode(&mut fields)?)?;
        Ok(Self {
            begins: seconds(&mut validity)?,
            ends: seconds(&mut validity)?,
        })
    }
}

fn inside(sequence: AnyRef<'_>) -> der::Result<SliceReader<'_>> {
    sequence.tag().assert_eq(Tag::Sequence)?;
    SliceReader::new(sequence.value())
}

fn seconds(reader: &mut SliceReader<'_>) -> der::Result<i64> {
    let time = AnyRef::decode(reader)?;
    let since_1970 = if time.tag() == Tag::UtcTime {
        time.decode_as::<UtcTime>()?.to_unix_duration()
    } else {
        time.decode_as::<GeneralizedTime>()?.to_unix_duration()
    };
    Ok(i64::try_from(since_1970.as_secs()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    fn certificate(begins: i32, ends: i32) -> Vec<u8> {
        let mut params = CertificateParams::new(["entreat.test".to_owned()]).unwrap();
        params.not_before = date_time_ymd(begins, 1, 1);
        params.not_after = date_time_ymd(ends, 1, 1);
        let key = KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn the_period_is_read_in_this_century_and_in_the_next() {
        // From 2050 on, the other type of time is used.
        let validity = Validity::of(&certificate(2026, 2050)).unwrap();
        let (begins, ends) = (1_767_225_600, 2_524_608_000);
        assert_eq!(validity, Validity { begins, ends });
    }

    #[test]
    fn what_is_cut_or_changed_is_an_error_and_no_panic() {
        let whole = certificate(2026, 2027);
        for length in 0..whole.len() {
            assert!(Validity::of(&whole[..length]).is_err(), "{length}");
        }
        for place in 0..whole.len() {
            let mut changed = whole.clone();
            changed[place] ^= 0x55;
            let _ = Validity::of(&changed);
        }
        assert!(Validity::of(b"not a certificate").is_err());
    }
}
