<?php
/** An ERP's round through the Connector: create, wait by webhook, show, fetch, acknowledge, respond. See README.md. */
declare(strict_types=1);

const TOLERANCE_S = 300;
const FINAL_EVENTS = ['document.delivered', 'document.failed', 'document.needs_attention'];

function setting(string $name, ?string $otherwise = null): string
{
    $value = getenv($name);
    if ($value === false && $otherwise === null) {
        throw new RuntimeException("set $name");
    }
    return $value === false ? (string) $otherwise : $value;
}

function call(string $method, string $path, ?array $body = null, array $headers = []): string
{
    $curl = curl_init(setting('KURIER_URL') . $path);
    $options = [CURLOPT_CUSTOMREQUEST => $method, CURLOPT_RETURNTRANSFER => true, CURLOPT_TIMEOUT => 30];
    if ($body !== null) {
        $headers[] = 'Content-Type: application/json';
        $options[CURLOPT_POSTFIELDS] = json_encode($body, JSON_THROW_ON_ERROR);
    }
    curl_setopt_array($curl, $options + [CURLOPT_HTTPHEADER => $headers]);
    $text = curl_exec($curl);
    $status = curl_getinfo($curl, CURLINFO_HTTP_CODE);
    if ($text === false || $status >= 300) {
        throw new RuntimeException("$method $path: $status " . (string) $text);
    }
    return $text;
}

/** The key is the same for every try to create one document. */
function idempotencyKey(string $customerRef, string $externalId): string
{
    $parts = array_map(fn (string $text): string => pack('N', strlen(trim($text))) . trim($text), [$customerRef, $externalId]);
    return 'connector:v1:' . hash('sha256', implode('', $parts));
}

/** Signed are the timestamp, a dot and the exact bytes; an old timestamp is a repeated message. */
function isGenuine(array $headers, string $body, string $secret): bool
{
    $timestamp = $headers['x-webhook-timestamp'] ?? '';
    $expected = 'sha256=' . hash_hmac('sha256', "$timestamp.$body", $secret);
    $isFresh = ctype_digit($timestamp) && abs(time() - (int) $timestamp) <= TOLERANCE_S;
    return $isFresh && hash_equals($expected, $headers['x-webhook-signature'] ?? '');
}

/** Takes one delivery of the webhook. Returns the event; null for one that is not genuine. */
function receive($server, string $secret): ?array
{
    $connection = stream_socket_accept($server, -1);
    $headers = [];
    fgets($connection);
    while (($line = trim((string) fgets($connection))) !== '') {
        [$name, $value] = explode(':', $line, 2);
        $headers[strtolower($name)] = trim($value);
    }
    $body = (string) stream_get_contents($connection, (int) ($headers['content-length'] ?? 0));
    $event = isGenuine($headers, $body, $secret) ? json_decode($body, true, 64, JSON_THROW_ON_ERROR) : null;
    $status = $event === null ? '401 Unauthorized' : '200 OK';
    fwrite($connection, "HTTP/1.1 $status\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    fclose($connection);
    return $event;
}

$json = fn (string $text): array => json_decode($text, true, 64, JSON_THROW_ON_ERROR);
$customerRef = setting('CUSTOMER_REF');
$query = 'customerRef=' . rawurlencode($customerRef);
$key = ['client_id' => setting('KURIER_CLIENT_ID'), 'client_secret' => setting('KURIER_CLIENT_SECRET')];
$token = $json(call('POST', '/auth/token', ['grant_type' => 'client_credentials'] + $key))['access_token'];
$auth = ["Authorization: Bearer $token"];
$server = stream_socket_server('tcp://0.0.0.0:' . setting('WEBHOOK_PORT', '8090'));
$put = $json(call('PUT', '/connector/webhook', ['url' => setting('WEBHOOK_URL')], $auth));
$secret = $put['secret'] ?? $json(call('POST', '/connector/webhook/rotate-secret', null, $auth))['secret'];

$id = 'demo-' . hrtime(true);
$recipient = ['country' => 'SK', 'name' => 'Prijemca, a. s.', 'taxId' => setting('RECIPIENT_DIC')];
$line = ['description' => 'Papier A4', 'quantity' => 3, 'unit' => 'ks', 'unitPrice' => '23.90', 'vatRate' => 23];
$invoice = ['customerRef' => $customerRef, 'externalId' => $id, 'number' => $id, 'recipient' => $recipient, 'lines' => [$line]];
$invoice += ['issueDate' => date('Y-m-d'), 'dueDate' => date('Y-m-d', strtotime('+14 days'))];
$headers = [...$auth, 'Idempotency-Key: ' . idempotencyKey($customerRef, $id)];
$created = $json(call('POST', '/connector/documents', $invoice, $headers));
do $event = receive($server, $secret);
while ($event === null || $event['documentId'] !== $created['id'] || !in_array($event['type'], FINAL_EVENTS, true));
echo 'sent: ', call('GET', "/connector/documents/{$created['id']}?$query", null, $auth), "\n";

foreach ($json(call('GET', "/connector/documents?$query&direction=inbound&state=received", null, $auth))['documents'] as $document) {
    $path = "/connector/documents/{$document['id']}";
    $ubl = call('GET', "$path/ubl?$query", null, $auth);
    call('POST', "$path/acknowledge?$query", ['reference' => "erp-{$document['number']}"], $auth);
    call('POST', "$path/respond?$query", ['status' => 'accepted'], $auth);
    echo "received: {$document['number']} ", strlen($ubl), " octets of UBL; acknowledged and accepted\n";
}
