/** Installs the Salt releases that the interop tests run against: `node dist/test/interop/install-salt.js`. */
import { installRelease, testedReleases } from "./salt-releases.ts";

for (const name of testedReleases) {
  const release = await installRelease(name, (line) => process.stdout.write(`${line}\n`));
  process.stdout.write(`Salt ${release.version} is ready\n`);
}
