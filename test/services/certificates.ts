/** Certificates for servers and clients of tests: an authority, a server's and a client's certificate of it, and another authority. */
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Paths of PEM files. */
export type Certificates = {
  readonly ca: string;
  readonly otherCa: string;
  /** For 127.0.0.1 and no name. */
  readonly server: { readonly cert: string; readonly key: string };
  /** For the user `postgres`. */
  readonly client: { readonly cert: string; readonly key: string };
  readonly remove: () => void;
};

/** @param owner - user id that may read the server's key, if this process is root's */
export function makeCertificates(owner: number): Certificates {
  const folder = mkdtempSync(join(tmpdir(), "sw-certificates-"));
  chmodSync(folder, 0o755);
  const file = (name: string) => join(folder, name);
  const openssl = (...args: readonly string[]) => execFileSync("openssl", args, { stdio: "ignore" });
  const newKey = (name: string) => ["-newkey", "rsa:2048", "-nodes", "-keyout", file(`${name}.key`)];
  const authority = (name: string) => {
    openssl("req", "-x509", ...newKey(name), "-out", file(`${name}.crt`), "-subj", `/CN=${name}`, "-days", "1");
    return file(`${name}.crt`);
  };
  const ca = authority("ca");
  const signed = (name: string, subject: string, names: string) => {
    openssl("req", ...newKey(name), "-out", file(`${name}.csr`), "-subj", `/CN=${subject}`);
    writeFileSync(file(`${name}.ext`), names);
    openssl(
      ...["x509", "-req", "-in", file(`${name}.csr`), "-CA", ca, "-CAkey", file("ca.key"), "-CAcreateserial"],
      ...["-out", file(`${name}.crt`), "-days", "1", "-extfile", file(`${name}.ext`)],
    );
    return { cert: file(`${name}.crt`), key: file(`${name}.key`) };
  };
  const server = signed("server", "server", "subjectAltName=IP:127.0.0.1\n");
  if (process.getuid?.() === 0) chownSync(server.key, owner, owner);
  return {
    ca,
    otherCa: authority("other"),
    server,
    client: signed("client", "postgres", "extendedKeyUsage=clientAuth\n"),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
