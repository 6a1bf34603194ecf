/** Returner `rawfile_json`: appends the return to a file, one line of JSON each. Source: Salt 3007's `rawfile_json`. */
import { openRegularFile } from "../../../config/host/regular-file.ts";
import { describe } from "../../modules/declare/describe.ts";
import { returnerError } from "../contract/errors.ts";
import { jsonOf } from "../contract/json.ts";
import type { Returner } from "../contract/returner.ts";

/** As Salt makes it: the umask decides. */
const newFileMode = 0o666;

export const rawfileJsonReturner: Returner = {
  name: "rawfile_json",
  doc: describe(
    "Appends the return to the file `rawfile_json.filename`, one line of JSON each.",
    "test.ping --return rawfile_json",
  ),
  returner: async ({ ret, settings }) => {
    const options = settings.of("rawfile_json", { filename: "/var/log/salt/events" });
    const path = options.demand("filename");
    try {
      const file = await openRegularFile(path, newFileMode);
      try {
        await file.appendFile(`${jsonOf(ret)}\n`);
      } finally {
        await file.close();
      }
    } catch (error) {
      throw returnerError(`${path} cannot be written`, error);
    }
  },
};
