/** Returner `local`: shows the return, to try returners out. Source: Salt 3007's `local`. */
import { printedOf } from "../../../python/repr.ts";
import { describe } from "../../modules/declare/describe.ts";
import type { Returner } from "../contract/returner.ts";

export const localReturner: Returner = {
  name: "local",
  doc: describe(
    "Prints the return: `saltworks call` on its terminal, a minion in its log.",
    "test.ping --return local",
  ),
  returner: async ({ ret, print }) => print(printedOf(ret)),
};
