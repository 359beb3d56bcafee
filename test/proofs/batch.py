"""Runs a verifier on requests: `batch.py example`, or `batch.py package` for that of the package
`provec`. Reads and writes one JSON value per line."""
import decimal, importlib, json, sys

# A program's own decimal context must not change a verifier's results.
decimal.getcontext().prec = 3

verifier = importlib.import_module(sys.argv[1] + "_verifier")

for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = {"is": getattr(verifier, "of_" + request.pop("of"))(**request)}
    except verifier.Refused as refusal:
        answer = {"refused": str(refusal)}
    except Exception as error:
        answer = {"error": "%s: %s" % (type(error).__name__, error)}
    print(json.dumps(answer))
