/** Returner `rawfile_json`: appends the return to a file, one line of JSON each. Source: Salt 3007's `rawfile_json`. */
import { appendFile } from "node:fs/promises";
import { describe } from "../../modules/declare/describe.ts";
import { jsonOf } from "../contract/json.ts";
import type { Returner } from "../contract/returner.ts";

export const rawfileJsonReturner: Returner = {
  name: "rawfile_json",
  doc: describe(
    "Appends the return to the file `rawfile_json.filename`, one line of JSON each.",
    "test.ping --return rawfile_json",
  ),
  returner: async ({ ret, settings }) => {
    const options = settings.of("rawfile_json", { filename: "/var/log/salt/events" });
    await appendFile(options.demand("filename"), `${jsonOf(ret)}\n`);
  },
};
