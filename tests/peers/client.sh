#!/bin/sh
# Entreat as the client that the conformance suite tries: `client.sh URL`, with the program in
# ENTREAT. Each tool of the scenario is called once.
set -eu

call() {
    printf '%s' "$2" | "$ENTREAT" call --answers - "$1" "$url" >/dev/null
}

# Runs a command of Entreat as somebody does who follows the link that it prints: without a display,
# it opens no browser itself. Ends with the exit code of the command.
signing_in() {
    status=$XDG_DATA_HOME/status
    {
        code=0
        "$ENTREAT" "$@" </dev/null 2>&1 >/dev/null || code=$?
        echo "$code" >"$status"
    } | while read -r line; do
        printf '%s\n' "$line" >&2
        case $line in
        *"in a browser: "*) curl --silent --location --output /dev/null "${line##*: }" || : ;;
        esac
    done
    return "$(cat "$status")"
}

# A value of the JSON object in MCP_CONFORMANCE_CONTEXT.
context() {
    printf '%s' "${MCP_CONFORMANCE_CONTEXT:-}" |
        sed -n "s/.*\"$1\" *: *\"\([^\"]*\)\".*/\1/p"
}

url=$1
# Nobody else's sign-ins, and no display.
XDG_DATA_HOME=$(mktemp -d)
export XDG_DATA_HOME
trap 'rm -r "$XDG_DATA_HOME"' EXIT
unset DISPLAY WAYLAND_DISPLAY WSL_DISTRO_NAME

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
auth/pre-registration)
    context client_secret >"$XDG_DATA_HOME/secret"
    signing_in call --client-id "$(context client_id)" \
        --client-secret-file "$XDG_DATA_HOME/secret" test-tool "$url"
    ;;
auth/basic-cimd)
    signing_in call --client-metadata https://conformance-test.local/client-metadata.json \
        test-tool "$url"
    ;;
auth/authorization-server-migration)
    signing_in call test-tool "$url"
    signing_in call test-tool "$url"
    ;;
auth/*)
    signing_in call test-tool "$url"
    ;;
*)
    echo "no such scenario: $MCP_CONFORMANCE_SCENARIO" >&2
    exit 2
    ;;
esac
