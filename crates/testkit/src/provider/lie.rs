//! What a provider can be told to get wrong.

/// A token that nobody may accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Forgery {
    /// It has the algorithm `none` and no signature.
    Unsigned,
    /// It is signed by HS256 with the public key as secret.
    SharedSecret,
    /// It is signed by ES512, with something.
    UnknownAlgorithm,
    /// It names the provider's key, and is signed with another one.
    ForeignKey,
    /// It names a key that the provider does not have.
    UnknownKey,
    /// It was altered after it was signed.
    Altered,
    /// It has an extension that has to be understood.
    CriticalHeader,
    /// It contains a token.
    Nested,
    /// It names two algorithms.
    TwoAlgorithms,
    /// It names two subjects.
    TwoSubjects,
    /// Its expiry is text.
    TextualExpiry,
    /// It has no expiry.
    NoExpiry,
    /// It has expired.
    Expired,
    /// It was issued in an hour.
    FromTheFuture,
    /// It names another issuer.
    OtherIssuer,
    /// It names the issuer with a slash at the end.
    SlashAfterIssuer,
    /// It is for somebody else.
    OtherAudience,
    /// It has no subject.
    NoSubject,
    /// It is a megabyte long.
    Huge,
}

impl Forgery {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::Unsigned,
        Self::SharedSecret,
        Self::UnknownAlgorithm,
        Self::ForeignKey,
        Self::UnknownKey,
        Self::Altered,
        Self::CriticalHeader,
        Self::Nested,
        Self::TwoAlgorithms,
        Self::TwoSubjects,
        Self::TextualExpiry,
        Self::NoExpiry,
        Self::Expired,
        Self::FromTheFuture,
        Self::OtherIssuer,
        Self::SlashAfterIssuer,
        Self::OtherAudience,
        Self::NoSubject,
        Self::Huge,
    ];
}

/// How a provider misleads those who ask it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lie {
    /// Sign-ins end with an ID token that is forged like this.
    IdToken(Forgery),
    /// Sign-ins end with an ID token for another sign-in.
    OtherNonce,
    /// Sign-ins end with an ID token without the sign-in's nonce.
    NoNonce,
    /// Sign-ins end with an ID token for two audiences, issued to the other one.
    ForeignParty,
    /// Sign-ins end with an access token in place of the ID token.
    AccessTokenForIdToken,
    /// Redirects name another issuer.
    OtherIssuerInRedirect,
    /// Redirects do not name the issuer, though the metadata say that they do.
    NoIssuerInRedirect,
    /// Redirects carry an error with a description that nobody should see, [`ERROR_TEXT`].
    ErrorInRedirect,
    /// Redirects carry such an error, and name another issuer.
    ErrorFromOtherIssuer,
    /// Codes are not exchanged: the endpoint returns an error with [`ERROR_TEXT`].
    ErrorAtTokenEndpoint,
    /// The metadata are another issuer's.
    OtherIssuerInMetadata,
    /// The metadata offer no PKCE.
    NoPkce,
    /// The metadata have no endpoint to register clients at.
    NoRegistration,
    /// The metadata name a token endpoint that is not on this machine, and not by TLS.
    PlainTokenEndpoint,
    /// Every token has the scope `mcp`, whatever was asked for.
    FewerScopes,
    /// The key set is redirected to where it is.
    RedirectedKeySet,
    /// The key set has 50 MB.
    HugeKeySet,
    /// The key set begins, and does not end.
    SlowKeySet,
    /// The key set is empty.
    EmptyKeySet,
    /// The keys change whenever they are fetched, so that nothing signed before fits.
    FleetingKeys,
    /// Every request is answered by 503.
    Down,
}

/// The description of errors that are lies.
pub const ERROR_TEXT: &str = "<b>Call 555-0100 to unlock your account</b>";
