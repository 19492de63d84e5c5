/** An invoice as JSON that is right, and the firm that sends it. */
import type { ParticipantId } from "../../../engine/base/ids.js";

export const OWN_FIRM = {
  participant: "0245:2120000001" as ParticipantId,
  name: "Odosielateľ, s. r. o.",
  ico: "12000001",
  dic: "2120000001",
  icDph: "SK2120000001",
  street: "Obchodná 12",
  city: "Bratislava",
  postalCode: "811 06",
  country: "SK",
};

export const JSON_INVOICE = {
  receiverPeppolId: "0245:2020202020",
  receiverName: "Prijemca, a. s.",
  receiverIco: "12345678",
  receiverIcDph: "SK2020202020",
  receiverStreet: "Hlavná 48",
  receiverCity: "Košice",
  receiverPostalCode: "040 01",
  receiverCountry: "SK",
  invoiceNumber: "2026/0042",
  issueDate: "2026-11-20",
  dueDate: "2026-12-04",
  buyerReference: "4100",
  iban: "SK3112000000198742637541",
  variableSymbol: "20260042",
  items: [
    { description: "Papier A4", quantity: 3, unit: "ks", unitPrice: "23.90", vatRate: 23, discount: 10 },
    { description: "Účtovníctvo pre malé firmy", quantity: "1", unit: "ks", unitPrice: 32.8, vatRate: 5 },
  ],
};
