# A server of 2025-11-25 that charges cards, and asks whose. Its ledger says what ran, for all of its
# processes together.
ledger=$1

# The text of a member of the line.
member() {
    rest=${line#*\"$1\":\"}
    printf '%s' "${rest%%\"*}"
}

while IFS= read -r line; do
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    case $line in
    *'"method":"server/discover"'*)
        printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"
        ;;
    *'"method":"initialize"'*)
        printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"till","version":"1"}}}\n' "$id"
        ;;
    *'"method":"tools/call"'*)
        order=$(member order)
        attempt=$(member attempt)
        printf 'asked %s %s\n' "$order" "$attempt" >>"$ledger"
        printf '{"jsonrpc":"2.0","id":"%s %s %s","method":"elicitation/create","params":{"message":"Whose card for %s?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}\n' "$order" "$attempt" "$id" "$order"
        ;;
    *'"action":"accept"'*)
        # The id of the question says which call it belongs to.
        set -- $(member id)
        name=$(member name)
        printf 'ran %s %s %s\n' "$1" "$2" "$name" >>"$ledger"
        call=$3
        (
            sleep 0.05
            printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"charged %s"}]}}\n' "$call" "$name"
        ) &
        ;;
    esac
done
