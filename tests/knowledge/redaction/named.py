"""Secrets known by the name in front of them, in the spellings of shells, YAML, JSON, TOML and Python."""

from __future__ import annotations

from tests.knowledge.redaction.parts import HEX, Secret, encoded, made

V = made("v", 18)
H32, H40 = made("h", 32, HEX), made("h40", 40, HEX)
PHRASE = "correct horse battery staple"
ODD = "p#ss~w?rd|12[3]"
PAT = made("pat", 52, "abcdefghijklmnopqrstuvwxyz234567")
ESCAPED = "hunter2" + "secret"

SEEN = [
    Secret("shell export", f"export MINIO_SECRET_KEY={V}", (V,)),
    Secret("shell export", f"declare -x DB_PASS='{V}'", (V,)),
    Secret("shell export", f"set -x; SMTP_PASS={V} python train.py", (V,)),
    Secret("odd signs", f"DB_PASSWORD={ODD}", (ODD, "|12[3]")),
    Secret("odd signs", "password: p4ss:wo" + "rd!9", ("wo" + "rd!9",)),
    Secret("odd signs", 'FATAL: password="a~b?c]d' + 'e" for user', ("a~b?c]d",)),
    Secret("short", "redis_password=ab" + "c12", ("abc12",)),
    Secret("python kwargs", f"Client(api_key='{V}')", (V,)),
    Secret("python kwargs", f'login(token="{V}", add_to_git_credential=False)', (V,)),
    Secret("python kwargs", f"[Session(password='{V}')]", (V,)),
    Secret("python kwargs", f"headers = [('api_key', '{V}')]", (V,)),
    Secret("phrase", f'password = "{PHRASE}"', ("battery", "staple")),
    Secret("phrase", f"passphrase: '{PHRASE}'", ("battery", "staple")),
    Secret("escaped json", '{"msg":"{\\"password\\": \\"' + ESCAPED + '\\"}"}', (ESCAPED,)),
    Secret("escaped json", r"{\\\"api_key\\\": \\\"" + V + r"\\\"}", (V,)),
    Secret("yaml", f"  secretKey: {V}", (V,)),
    Secret("yaml", f"password: |\n  {V}\nuser: x", (V,)),
    Secret("json", f'{{"username": "x", "password": "{V}"}}', (V,)),
    Secret(
        "neptune",
        f"NEPTUNE_API_TOKEN={encoded('{' + chr(34) + 'api_key' + chr(34) + V + '}')}==",
        (encoded("{" + chr(34) + "api_key" + chr(34) + V + "}"),),
    ),
    Secret("clearml", f"CLEARML_API_SECRET_KEY={V}", (V,)),
    Secret("django", f"SECRET_KEY = 'django-insecure-{V}'", (V,)),
    Secret("prose", f"my password is {V}", (V,)),
    Secret("prose", "the password is: `let" + "mein`", ("letmein",)),
    Secret("env dump", f"environ({{'HOME': '/root', 'DB_PWD': '{V}', 'X': '1'}})", (V,)),
    Secret("wandb key", f"WANDB_API_KEY: {H40}", (H40,)),
    Secret("wandb key", f"$ wandb login --relogin {H40}", (H40,)),
    Secret("azure secret by name", f"AZURE_CLIENT_SECRET=ab~{V}.x", (V,)),
    Secret("connection string", f"Server=db;User Id=sa;Password={V};Encrypt=no", (V,)),
    Secret("flag", f"python t.py --api-key {V} --lr 0.1", (V,)),
    Secret("flag", f"['--password={V}', '--lr=0.1']", (V,)),
]

HELD_OUT = [
    Secret("toml", f'api_token = """{V}"""', (V,)),
    Secret("toml", f"[db]\npassword = '{V}' # prod", (V,)),
    Secret("ini", f"s3.secret-access-key = {V}", (V,)),
    Secret("docker compose", f"      - POSTGRES_PASSWORD={V}", (V,)),
    Secret("docker run", f"docker run -e HF_TOKEN={V} -e LR=1 image", (V,)),
    Secret("kubernetes env", f"- name: DB_PASSWORD\n  value: {V}", (V,)),
    Secret("kubernetes env", f'{{"name": "API_TOKEN", "value": "{V}"}}', (V,)),
    Secret("comet", f"COMET_API_KEY={V}", (V,)),
    Secret("comet", f'Experiment(api_key = "{V}", project_name="x")', (V,)),
    Secret("snowflake", f"snowflake.connector.connect(user='u', password='{ODD}')", (ODD,)),
    Secret("azure devops", f"AZURE_DEVOPS_EXT_PAT={PAT}", (PAT,)),
    Secret("non-ascii value", "password=пароль" + "99", ("пароль",)),
    Secret("non-ascii value", "密码：" + V, (V,)),
    Secret("python dict", f"{{'secret_key': b'{V}'}}", (V,)),
    Secret("python repr", f"Config(hf_token=SecretStr('{V}'))", (V,)),
    Secret("yaml flow", f"s3: {{accessKey: u, secretKey: {V}}}", (V,)),
    Secret("yaml quoted key", f'"redis-password": "{V}"', (V,)),
    Secret("xml", f"<password>{V}</password>", (V,)),
    Secret("powershell", f'$env:DB_PASSWORD = "{V}"', (V,)),
    Secret("windows set", f"set HF_TOKEN={V}", (V,)),
    Secret("csh", f"setenv SECRET_TOKEN {V}", (V,)),
    Secret("dockerfile", f"ENV API_KEY {V}", (V,)),
    Secret("gcp", f'"private_key_id": "{H40}",', (H40,)),
    Secret("kaggle", f'{{"username":"x","key":"{H32}"}}', (H32,)),
    Secret("minio", f"accessKey: minio{V}", (V,)),
    Secret("prose", f"The root password was {V}, changed now", (V,)),
    Secret("prose", f"token is {H40}", (H40,)),
    Secret("log line", f"2026-05-03 INFO auth: using api key {V}xyz987", (V,)),
    Secret("rabbit", f"RABBITMQ_DEFAULT_PASS={V}", (V,)),
    Secret("argparse", f"Namespace(lr=0.1, hub_token='{V}', seed=1)", (V,)),
]

FURTHER = [
    Secret("odd signs", "password=p<ss" + "99", ("p<ss", "ss99")),
    Secret("odd signs", "password='$ecr" + "et99!'", ("ecret99",)),
    Secret("odd signs", "PASSWORD=a'b" + "c9x", ("bc9x",)),
    Secret("cut quoted name", f'{{"hub_token":\n   "{V}"}}', (V,)),
    Secret("properties", f"spring.datasource.password={V}", (V,)),
    Secret("javascript", f'"clientSecret":"{V}"', (V,)),
    Secret("subscript", f"os.environ['WANDB_API_KEY'] = '{H32}'", (H32,)),
    Secret("npmrc", f"//registry.example/:_authToken={V}", (V,)),
    Secret("ansible", f"ansible_ssh_pass={V}", (V,)),
    Secret("prose", f"kinit: password for u: {V}", (V,)),
    Secret("prose", f"my api key: {V}", (V,)),
    Secret("kubectl", f"kubectl create secret generic x --from-literal=password={V}", (V,)),
    Secret("my.cnf", f"[client]\nuser=root\npassword={V}\n", (V,)),
    Secret("ray", f"ray start --redis-password='{V}'", (V,)),
    Secret("mlflow", f"MLFLOW_TRACKING_PASSWORD={V}", (V,)),
    Secret("jdbc", f"jdbc:mysql://h/db?user=u&password={V}", (V,)),
    Secret("ngc", f"NGC_CLI_API_KEY={V}", (V,)),
]
"""Kinds that came up after both halves had been read."""
