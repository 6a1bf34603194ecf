/** Returner `http`: posts the return as JSON to an address. Salt has none of this kind; the options are ours. */
import { strOf } from "../../../python/repr.ts";
import { describe } from "../../modules/declare/describe.ts";
import { jsonOf } from "../contract/json.ts";
import type { Returner } from "../contract/returner.ts";
import { sendOrFail } from "./request.ts";

export const httpReturner: Returner = {
  name: "http",
  doc: describe("Posts the return as JSON to the address `http.url`.", "test.ping --return http"),
  returner: async ({ ret, settings, signal }) => {
    const options = settings.of("http", { url: undefined, headers: undefined, verify_ssl: true });
    const given = options.value("headers");
    const headers = given instanceof Map ? Array.from(given, ([name, value]) => [strOf(name), strOf(value)]) : [];
    await sendOrFail({
      method: "POST",
      url: options.demand("url"),
      headers: { "content-type": "application/json", ...Object.fromEntries(headers) },
      body: jsonOf(ret),
      isVerified: options.isOn("verify_ssl"),
      signal,
    });
  },
};
