/** One connection of undici without the rest of it: the whole costs a process 30 MB and a tenth of a second more. */
declare module "undici/lib/dispatcher/client.js" {
  import { Client } from "undici";
  export default Client;
}
