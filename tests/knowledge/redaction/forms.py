"""Secrets known by where they are: commands, addresses, headers, files of credentials, keys, people and places."""

from __future__ import annotations

from tests.knowledge.redaction.parts import BASE64, HEX, Secret, encoded, made

P = "Sup3rS" + "3cret"
V = made("form", 24)
H = made("sig", 64, HEX)
BODY = [made(f"pem{i}", 64, BASE64) for i in range(3)]
BEGIN, END = "-----BEGIN ", "-----END "
JWT = "eyJ" + made("j1", 20) + ".eyJ" + made("j2", 30) + "." + made("j3", 40)
HFT = "hf" + "_" + made("cut", 34)
GHT = "ghp" + "_" + made("cut2", 36)

SEEN = [
    Secret("mysql", f"mysql -u root -p{P} db", (P,)),
    Secret("sshpass", f"sshpass -p '{P}' ssh node2", (P,)),
    Secret("curl", f"curl -u admin:{P} https://registry.local/v2/", (P,)),
    Secret("curl", f"curl -s --user 'admin:{P}' https://x.example/", (P,)),
    Secret("netrc", f"machine api.wandb.ai login user password {P}", (P,)),
    Secret("netrc", f"machine h\n  login user\n  password {P}\n", (P,)),
    Secret(
        "docker auth",
        f'{{"auths": {{"r.io": {{"auth": "{encoded("user:" + P)}"}}}}}}',
        (encoded("user:" + P),),
    ),
    Secret("kubeconfig", f"    client-key-data: {encoded(P * 9)}", (encoded(P * 9)[:40],)),
    Secret("url password", f"postgresql://user:p@ss/w0{P}@db.local/x", ("p@ss", P)),
    Secret("url password", f"mysql://u:ab/{P}@10.0.0.5:3306/db", (P,)),
    Secret("url token", f"pip install git+https://{V}@github.com/a/b.git", (V,)),
    Secret("signed url", f"https://b.s3.amazonaws.com/a?X-Amz-Signature={H}&X-Amz-Date=1", (H,)),
    Secret("signed url", f"https://storage.googleapis.com/b/o?X-Goog-Signature={H}", (H,)),
    Secret("signed url", f"https://x.example/v1?access_token={V}&page=2", (V,)),
    Secret("header", f"-H 'X-Api-Key: {V}'", (V,)),
    Secret("header", f"Authorization: Basic {encoded('u:' + P)}", (encoded("u:" + P),)),
    Secret("header", "Authorization: Bearer abc" + "123", ("abc123",)),
    Secret("cookie", f"Cookie: session={V}", (V,)),
    Secret("cookie", f"Cookie: a=1; sessionid={V}; theme=dark", (V,)),
    Secret("jwt", f"token: {JWT}", (JWT[-30:],)),
    Secret(
        "pem",
        f"{BEGIN}RSA PRIVATE KEY-----\n" + "\n".join(BODY) + f"\n{END}RSA PRIVATE KEY-----",
        tuple(BODY),
    ),
    Secret("pem escaped", f"{BEGIN}PRIVATE KEY-----\\n{BODY[0]}\\n{END}PRIVATE KEY-----\\n", (BODY[0],)),
    Secret("pem without begin", "\n".join(BODY) + f"\n{END}RSA PRIVATE KEY-----", tuple(BODY)),
    Secret("cut by line end", f"login {HFT[:20]}\n{HFT[20:]}", (HFT[:20], HFT[20:])),
    Secret("cut by backslash", f"export T={GHT[:22]}\\\n{GHT[22:]}", (GHT[:22], GHT[22:])),
    Secret("cut by stars", f"my {GHT[:18]}**{GHT[18:]}", (GHT[:18], GHT[18:])),
    Secret("ansi inside", f"T={HFT[:12]}\x1b[0m{HFT[12:]}", (HFT[:12], HFT[12:])),
    Secret("zero width inside", f"T={HFT[:12]}\u200b{HFT[12:]}", (HFT[:12], HFT[12:])),
    Secret("home", 'File "/home/张三/train.py", line 1', ("张三",)),
    Secret("home", "/home/josé/train.py", ("jos", "é")),
    Secret("home", "C:\\Users\\Alice Smith\\x", ("Alice", "Smith")),
    Secret("mail", "ask bob.o'neil@corp.example.com", ("bob", "neil", "corp.example")),
    Secret("public address", "peer 45.76.33.77:29500 refused", ("203.0.113.77", "33.77")),
    Secret("phone", "call me: +49 151 2345 6789", ("2345 6789",)),
]

HELD_OUT = [
    Secret("wget", f"wget --http-user=u --http-password={P} https://x.example/", (P,)),
    Secret("redis-cli", f"redis-cli -h h -a {P} ping", (P,)),
    Secret("docker login", f"docker login -u u -p {P} r.example", (P,)),
    Secret("psql", f"PGPASSWORD={P} psql -h h", (P,)),
    Secret("echo into stdin", f"echo {P} | sudo -S reboot", (P,)),
    Secret("openssl", f"openssl rsa -passin pass:{P} -in k", (P,)),
    Secret("ldap", f"ldapsearch -D cn=x -w {P} -b dc=y", (P,)),
    Secret("smb", f"mount -o username=u,password={P},vers=3 //s/x /mnt", (P,)),
    Secret("url password", f"redis://:{P}@10.0.0.1:6379/0", (P,)),
    Secret("url password", f"amqp://u:a@b:{P}@mq.local//", (P,)),
    Secret("proxy", f"https_proxy=http://u:{P}@proxy.corp:3128", (P,)),
    Secret("signed url", f"https://a.blob.core.windows.net/c?sv=1&sig={V}%3D&se=2", (V,)),
    Secret("signed url", f"https://x.example/a?X-Amz-Security-Token={V}%2F&b=1", (V,)),
    Secret("signed url", f"https://cdn.example/a?Expires=1&Signature={V}&Key-Pair-Id=K", (V,)),
    Secret("jupyter", f"http://127.0.0.1:8888/lab?token={made('jup', 48, HEX)}", (made("jup", 48, HEX),)),
    Secret("header", f'{{"Authorization": "Bearer {V}"}}', (V,)),
    Secret("header", f"X-Vault-Token: {V}", (V,)),
    Secret("header", f"Proxy-Authorization: Basic {encoded('pu:' + P)}", (encoded("pu:" + P),)),
    Secret("header", f"Authorization: AWS4-HMAC-SHA256 Credential=x/y, Signature={H}", (H,)),
    Secret("set-cookie", f"Set-Cookie: csrf={V}; Path=/; HttpOnly", (V,)),
    Secret("cookie dict", f"cookies={{'sessionid': '{V}'}}", (V,)),
    Secret("openssh key", f"{BEGIN}OPENSSH PRIVATE KEY-----\n{BODY[0]}\n{BODY[1]}\n", tuple(BODY[:2])),
    Secret(
        "pgp key",
        f"{BEGIN}PGP PRIVATE KEY BLOCK-----\n\n{BODY[0]}\n{END}PGP PRIVATE KEY BLOCK-----",
        (BODY[0],),
    ),
    Secret("putty key", f"PuTTY-User-Key-File-3: x\nPrivate-Lines: 1\n{BODY[0]}\nPrivate-MAC: 0", (BODY[0],)),
    Secret(
        "pem in a log",
        "".join(f"12:00 node-1: {b}\n" for b in BODY) + f"12:00 node-1: {END}RSA PRIVATE KEY-----",
        tuple(BODY),
    ),
    Secret(
        "age key",
        "AGE-SECRET-" + "KEY-1" + made("age", 58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
        (made("age", 58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),),
    ),
    Secret(
        "ssh host key",
        f"10.0.0.1 ecdsa-sha2-nistp256 AAAA{made('hk', 120, BASE64)}=",
        (made("hk", 120, BASE64),),
    ),
    Secret("ssh public key", f"ssh-ed25519 AAAA{made('pk', 64, BASE64)} bob", (made("pk", 64, BASE64),)),
    Secret("cut quoted name", f'{{"password":\n   "{V}"}}', (V,)),
    Secret("cut by backslash", f"--token {V}\\\n   --lr 1", (V,)),
    Secret("cut named value", f"DB_PASSWORD={V[:12]}\\\n{V[12:]}", (V[:12], V[12:])),
    Secret("bidi inside", f"T={GHT[:9]}\u202e{GHT[9:]}", (GHT[9:],)),
    Secret("coloured name", f"\x1b[1mDB_PASSWORD\x1b[0m=\x1b[32m{V}\x1b[0m", (V,)),
    Secret("home", "/Users/Ольга/x and file:///home/mkowalski/y", ("Ольга", "mkowalski")),
    Secret("home", "D:\\\\Users\\\\jdoe2\\\\train.py", ("jdoe2",)),
    Secret("home", "/export/home/mkowalski/run.sh", ("mkowalski",)),
    Secret("user", "alice@gpu-node-3:~$ python train.py", ("alice",)),
    Secret("user", "USER=alice.smith LOGNAME=alice.smith", ("alice.smith",)),
    Secret("mail", "write to jane (at) example (dot) org", ("jane", "example")),
    Secret("mail", "Author: X <x.y+z@mail.example.co.uk>", ("x.y+z", "mail.example")),
    Secret("unc path", "open \\\\fileserver\\alice$\\data.bin", ("fileserver\\alice",)),
    Secret("public address", "connect to [2a01:4f8:85a3::8a2e:370:7334]:29500", ("85a3", "7334")),
    Secret("public address", "MASTER_ADDR=52.14.33.7", ("33.7",)),
    Secret("phone", "Tel. (+1) 415-555-0137", ("555-0137",)),
    Secret("webhook", f"https://open.feishu.cn/open-apis/bot/v2/hook/{made('fs', 8, HEX)}-{V}", (V,)),
    Secret("webhook", f"https://oapi.dingtalk.com/robot/send?access_token={H}", (H,)),
    Secret(
        "aws pair", "AK" + "IA" + "Q2W3E4R5T6Y7U8I9, " + made("aws", 40, BASE64), (made("aws", 40, BASE64),)
    ),
]
