/** A valid invoice between the demo firms, with a fresh number and today's date. */
import { bratislavaDay } from "../../engine/base/clock.js";
import type { Clock } from "../../engine/base/clock.js";
import { newId } from "../../engine/base/ids.js";
import { DEMO_FIRMS } from "../../engine/identity/sandbox.js";
import { sampleInvoice } from "../../engine/invoices/sample-invoice.js";

export const demoInvoice = (clock: Clock, lines: number): string =>
  sampleInvoice({
    sender: DEMO_FIRMS.sender.participantId,
    receiver: DEMO_FIRMS.receiver.participantId,
    senderName: DEMO_FIRMS.sender.name,
    receiverName: DEMO_FIRMS.receiver.name,
    senderIco: DEMO_FIRMS.sender.ico,
    receiverIco: DEMO_FIRMS.receiver.ico,
    number: `F-${newId(clock)}`,
    issueDate: bratislavaDay(clock.now()),
    lines,
  });
