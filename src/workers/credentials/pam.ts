/**
 * Backend `pam`: checks passwords by the system's login rules. Node.js cannot load libpam, so the system's Python does, as in Salt. User and
 * password go to its standard input, because other users can list arguments and environment.
 */
import { spawn } from "node:child_process";
import { pamOutputBytesMax, pamTimeoutMs } from "../../limits.ts";
import {
  type CredentialConfig,
  type CredentialResult,
  type CredentialTask,
  faulty,
  refused,
} from "./contract/credential.ts";

const refusedExitCode = 3;

/** Python that answers PAM's hidden prompts with the password and visible prompts with the name, and prints the user's groups. */
const conversation = `
import ctypes as c, grp, os, pwd, sys
service, user, password = sys.stdin.buffer.read().split(b"\\0")
class Message(c.Structure):
    _fields_ = [("style", c.c_int), ("text", c.c_char_p)]
class Response(c.Structure):
    _fields_ = [("text", c.c_void_p), ("code", c.c_int)]
Talk = c.CFUNCTYPE(c.c_int, c.c_int, c.POINTER(c.POINTER(Message)), c.POINTER(c.POINTER(Response)), c.c_void_p)
class Conversation(c.Structure):
    _fields_ = [("talk", Talk), ("data", c.c_void_p)]
libc, pam = c.CDLL(None), c.CDLL("libpam.so.0")
libc.calloc.argtypes, libc.calloc.restype = [c.c_size_t, c.c_size_t], c.c_void_p
libc.strdup.argtypes, libc.strdup.restype = [c.c_char_p], c.c_void_p
pam.pam_start.argtypes = [c.c_char_p, c.c_char_p, c.POINTER(Conversation), c.POINTER(c.c_void_p)]
for step in (pam.pam_authenticate, pam.pam_acct_mgmt, pam.pam_end):
    step.argtypes = [c.c_void_p, c.c_int]
@Talk
def talk(count, messages, answers, data):
    answers[0] = c.cast(libc.calloc(count, c.sizeof(Response)), c.POINTER(Response))
    for index in range(count):
        style = messages[index].contents.style
        if style in (1, 2):
            answers[0][index].text = libc.strdup(password if style == 1 else user)
    return 0
handle = c.c_void_p()
held = Conversation(talk, None)
if pam.pam_start(service, user, c.byref(held), c.byref(handle)) != 0:
    sys.exit("PAM could not be started")
outcome = pam.pam_authenticate(handle, 0) or pam.pam_acct_mgmt(handle, 0)
pam.pam_end(handle, outcome)
if outcome != 0:
    sys.exit(${refusedExitCode})
name = user.decode()
try:
    groups = os.getgrouplist(name, pwd.getpwnam(name).pw_gid)
except KeyError:
    groups = []
for group in groups:
    try:
        print(grp.getgrgid(group).gr_name)
    except KeyError:
        pass
`;

export function checkPam(config: CredentialConfig, { username, password }: CredentialTask): Promise<CredentialResult> {
  const python = String(config.opts.get("auth.pam.python") ?? "/usr/bin/python3");
  const service = String(config.opts.get("auth.pam.service") ?? "login");
  if (username === "" || [username, password, service].some((text) => text.includes("\0")))
    return Promise.resolve(refused);
  return new Promise((resolve) => {
    const child = spawn(python, ["-I", "-c", conversation], { stdio: "pipe", timeout: pamTimeoutMs, env: {} });
    let output = "";
    let complaint = "";
    const within = (text: string, part: Buffer) => (text + part.toString("utf8")).slice(0, pamOutputBytesMax);
    child.stdout.on("data", (part: Buffer) => {
      output = within(output, part);
    });
    child.stderr.on("data", (part: Buffer) => {
      complaint = within(complaint, part);
    });
    child.on("error", (error) =>
      resolve(faulty(`PAM needs a Python 3 on this machine (auth.pam.python): ${error.message}`)),
    );
    child.on("close", (code, signal) => {
      if (code === 0) resolve({ isAuthentic: true, groups: output.split("\n").filter((name) => name !== "") });
      else if (code === refusedExitCode) resolve(refused);
      else resolve(faulty(`PAM did not answer: ${signal ?? complaint.trim().split("\n").at(-1) ?? code}`));
    });
    // The event `close` reports a child that has ended.
    child.stdin.on("error", () => undefined);
    child.stdin.end([service, username, password].join("\0"));
  });
}
