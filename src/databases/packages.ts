/** Client libraries are optional packages, which are looked for before they are used. */
import { createRequire, isBuiltin } from "node:module";
import { installCommand } from "../config/host/program.ts";
import { SaltworksError } from "../errors.ts";

/** Before the name of a package that is part of Node.js. */
const ownPrefix = "node:";
/** The first Node.js that has all of them. */
const nodeWithAll = "22.13";

/** @param what - what needs the package, for the message. @throws SaltworksError PACKAGE_MISSING */
export function requirePackage(what: string, packageName: string): void {
  if (packageName.startsWith(ownPrefix)) {
    if (isBuiltin(packageName)) return;
    const here = `which Node.js ${process.versions.node} does not have`;
    const text = `${what} needs ${packageName}, ${here}: run Saltworks with Node.js ${nodeWithAll} or later`;
    throw new SaltworksError("PACKAGE_MISSING", text, { package: packageName });
  }
  try {
    createRequire(import.meta.url).resolve(packageName);
  } catch (error) {
    throw new SaltworksError(
      "PACKAGE_MISSING",
      `${what} needs the package ${packageName}, which is not installed: ${installCommand(packageName)}`,
      { package: packageName },
      { cause: error },
    );
  }
}
