/** Execution module `state`: compiles and runs states. Source: Salt 3007's `state`, docs/functions.md. */
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { showFunctions } from "./show.ts";

export const stateModule: ModuleFunctions = { ...showFunctions };
