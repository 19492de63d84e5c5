"""An ERP's round through the Connector: create, wait by webhook, show, fetch, acknowledge, respond. See README.md."""
import datetime
import hashlib
import hmac
import http.server
import json
import os
import struct
import threading
import time
import urllib.parse
import urllib.request

BASE = os.environ["KURIER_URL"]
CUSTOMER = os.environ["CUSTOMER_REF"]
QUERY = "customerRef=" + urllib.parse.quote(CUSTOMER, safe="")
TOLERANCE_S = 300
FINAL = ("document.delivered", "document.failed", "document.needs_attention")


def call(method, path, body=None, headers=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(BASE + path, data=data, method=method, headers=dict(headers or {}))
    if data is not None:
        request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=30) as response:
        return response.read().decode()


def idempotency_key(external_id):
    """The key is the same for every try to create one document."""
    parts = [text.strip().encode() for text in (CUSTOMER, external_id)]
    return "connector:v1:" + hashlib.sha256(b"".join(struct.pack(">I", len(p)) + p for p in parts)).hexdigest()


def is_genuine(headers, body, secret):
    """Signed are the timestamp, a dot and the exact bytes; an old timestamp is a repeated message."""
    timestamp = headers.get("X-Webhook-Timestamp", "")
    mac = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    fresh = timestamp.isdigit() and abs(time.time() - int(timestamp)) <= TOLERANCE_S
    return fresh and hmac.compare_digest("sha256=" + mac, headers.get("X-Webhook-Signature", ""))


def listen(secret, seen):
    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            genuine = is_genuine(self.headers, body, secret)
            if genuine:
                seen[self.headers.get("X-Webhook-Event-Id", "")] = json.loads(body)
            self.send_response(200 if genuine else 401)
            self.end_headers()

    server = http.server.ThreadingHTTPServer(("", int(os.environ.get("WEBHOOK_PORT", "8090"))), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main():
    key = {"client_id": os.environ["KURIER_CLIENT_ID"], "client_secret": os.environ["KURIER_CLIENT_SECRET"]}
    token = json.loads(call("POST", "/auth/token", {"grant_type": "client_credentials", **key}))["access_token"]
    auth = {"Authorization": "Bearer " + token}
    put = json.loads(call("PUT", "/connector/webhook", {"url": os.environ["WEBHOOK_URL"]}, auth))
    secret = put.get("secret") or json.loads(call("POST", "/connector/webhook/rotate-secret", None, auth))["secret"]
    seen = {}
    server = listen(secret, seen)

    external_id = "demo-%d" % time.time_ns()
    today = datetime.date.today()
    invoice = {
        "customerRef": CUSTOMER,
        "externalId": external_id,
        "number": external_id,
        "issueDate": today.isoformat(),
        "dueDate": (today + datetime.timedelta(days=14)).isoformat(),
        "recipient": {"country": "SK", "name": "Prijemca, a. s.", "taxId": os.environ["RECIPIENT_DIC"]},
        "lines": [{"description": "Papier A4", "quantity": 3, "unit": "ks", "unitPrice": "23.90", "vatRate": 23}],
    }
    headers = {**auth, "Idempotency-Key": idempotency_key(external_id)}
    created = json.loads(call("POST", "/connector/documents", invoice, headers))
    while not any(e["documentId"] == created["id"] and e["type"] in FINAL for e in list(seen.values())):
        time.sleep(0.2)
    print("sent:", call("GET", "/connector/documents/%s?%s" % (created["id"], QUERY), None, auth))

    page = json.loads(call("GET", "/connector/documents?%s&direction=inbound&state=received" % QUERY, None, auth))
    for document in page["documents"]:
        path = "/connector/documents/" + document["id"]
        ubl = call("GET", "%s/ubl?%s" % (path, QUERY), None, auth)
        call("POST", "%s/acknowledge?%s" % (path, QUERY), {"reference": "erp-" + document["number"]}, auth)
        call("POST", "%s/respond?%s" % (path, QUERY), {"status": "accepted"}, auth)
        print("received:", document["number"], len(ubl), "characters of UBL; acknowledged and accepted")
    server.shutdown()


if __name__ == "__main__":
    main()
