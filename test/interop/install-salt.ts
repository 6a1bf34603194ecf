/** Installs the Salt releases that the interop tests run against, and the clients of Salt's returners: `node dist/test/interop/install-salt.js`. */
import { installClients } from "./returners/salts-returner.ts";
import { installRelease, testedReleases } from "./salt-releases.ts";

for (const name of testedReleases) {
  const release = await installRelease(name, (line) => process.stdout.write(`${line}\n`));
  process.stdout.write(`Salt ${release.version} is ready\n`);
  if (name === "3007") await installClients(release);
}
