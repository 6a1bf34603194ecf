/** The program's version, from the package it runs from. */
import { readOwnPackage } from "../minion/modules/program-version.ts";

export function programVersion(): string {
  return readOwnPackage().version;
}
