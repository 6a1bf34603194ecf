/** All states that this program has, by whole name. */
import type { StateTable } from "../run/contract.ts";
import { cmdStates } from "./cmd.ts";
import { eventStates } from "./event.ts";
import { absentState } from "./file-absent.ts";
import { directoryState } from "./file-directory.ts";
import { managedState } from "./file-managed.ts";
import { moduleStates } from "./module.ts";
import { testStates } from "./test.ts";

export const allStates: StateTable = {
  ...cmdStates,
  ...eventStates,
  "file.absent": absentState,
  "file.directory": directoryState,
  "file.managed": managedState,
  ...moduleStates,
  ...testStates,
};
