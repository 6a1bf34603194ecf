/** Returner `multi_returner`: passes the return to every returner of a list. Source: Salt 3007's `multi_returner`. */
import { strOf } from "../../../python/repr.ts";
import { configToValue } from "../../functions/yaml-values.ts";
import { describe } from "../../modules/declare/describe.ts";
import { returnerError } from "../contract/errors.ts";
import type { Returner } from "../contract/returner.ts";

export const multiReturner: Returner = {
  name: "multi_returner",
  doc: describe(
    "Passes the return to every returner of the list `multi_returner` in the minion's configuration.",
    "test.ping --return multi_returner",
  ),
  returner: async ({ config, passTo }) => {
    const listed = configToValue(config.opts.get("multi_returner") ?? null);
    if (!Array.isArray(listed)) throw returnerError("multi_returner is not a list of returners");
    const failures: string[] = [];
    for (const name of listed.map(strOf)) {
      await passTo(name).catch((error: Error) => failures.push(`${name}: ${error.message}`));
    }
    if (failures.length > 0) throw returnerError(failures.join("; "));
  },
};
