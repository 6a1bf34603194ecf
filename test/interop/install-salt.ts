/** Installs the Salt releases that the interop tests run against, the clients of Salt's returners, and pepper: `node dist/test/interop/install-salt.js`. */
import { installPepper } from "./api/pepper.ts";
import { installClients } from "./returners/salts-returner.ts";
import { installRelease, testedReleases } from "./salt-releases.ts";

for (const name of testedReleases) {
  const release = await installRelease(name, (line) => process.stdout.write(`${line}\n`));
  process.stdout.write(`Salt ${release.version} is ready\n`);
  if (name !== "3007") continue;
  await installClients(release);
  await installPepper(release);
}
