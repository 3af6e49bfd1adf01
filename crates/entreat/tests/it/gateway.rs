//! A gateway beside the control API.

use entreat::{AskerSettings, Entreat, EntreatError, GATEWAY_ASKER, GatewayOptions};

use crate::{KEY, LOOPBACK};

#[tokio::test]
async fn an_asker_named_as_the_gateways_own_is_refused_beside_a_gateway() {
    let named = |name: &str| {
        let builder = Entreat::builder().listen(LOOPBACK);
        builder.key(KEY, name, AskerSettings::default())
    };
    let beside = |name: &str| named(name).gateway(GatewayOptions::default());
    let refused = beside(GATEWAY_ASKER).start().await.unwrap_err();
    assert!(
        matches!(refused, EntreatError::ReservedName)
            && refused.to_string().contains("choose another name"),
        "{refused}"
    );
    for builder in [beside("robot"), named(GATEWAY_ASKER)] {
        builder.start().await.unwrap().shutdown().await;
    }
}
