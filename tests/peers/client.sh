#!/bin/sh
# Entreat as the client that the conformance suite tries: `client.sh URL`, with the program in
# ENTREAT. Each tool of the scenario is called once.
set -eu

call() {
    printf '%s' "$2" | "$ENTREAT" call --answers - "$1" "$url" >/dev/null
}

url=$1
case $MCP_CONFORMANCE_SCENARIO in
elicitation-sep1034-client-defaults)
    # Nothing is filled in: the defaults are the server's.
    call test_client_elicitation_defaults '[{"action": "accept"}]'
    ;;
sep-2322-client-request-state)
    yes='[{"action": "accept", "content": {"confirmed": true}}]'
    call test_mrtr_echo_state "$yes"
    call test_mrtr_no_state "$yes"
    call test_mrtr_unrelated '[]'
    call test_mrtr_no_result_type '[]'
    ;;
*)
    echo "no such scenario: $MCP_CONFORMANCE_SCENARIO" >&2
    exit 2
    ;;
esac
