"""Answers what a verifier says: `batch.py example`, or `batch.py package` for that of the package
`provec`. JSON on each line, both ways."""
import decimal, importlib, json, sys

# What a program sets for its own arithmetic may not change what a verifier computes.
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
