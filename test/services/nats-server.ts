/** The nats-server that joins several masters, which is newer than the one that Debian has. */
import { findNatsServer } from "../../src/cluster/server/program.ts";
import { hasCode } from "../../src/errors.ts";

/**
 * The program for tests; undefined if the machine lacks it, so that they are skipped.
 *
 * @throws SaltworksError PACKAGE_MISSING with CI=true, in which nothing is skipped
 */
export async function natsServerProgram(): Promise<string | undefined> {
  try {
    const { program } = await findNatsServer({ environment: process.env });
    return program;
  } catch (error) {
    if (process.env.CI !== "true" && hasCode(error, "PACKAGE_MISSING")) return undefined;
    throw error;
  }
}

/** For `skip` of a test that needs the server: why it is skipped, or false. */
export async function natsServerSkip(): Promise<string | false> {
  return (await natsServerProgram()) === undefined ? "nats-server is not built: npm run nats-server" : false;
}
