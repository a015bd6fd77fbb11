"""Look-alikes that must stay to the letter: a diagnosis reads them."""

from __future__ import annotations

HEX40 = "0123456789abcdef0123456789abcdef01234567"
HEX64 = HEX40 + "89abcdef0123456789abcdef"

LINES = f"""\
Password: required
Password: required but not set
credentials: default
fatal: could not read Password for 'https://github.com': No such device or address
missing access_key: please set it
git@github.com:org/repo
git clone git@github.com:org/repo.git
ssh://git@github.com/org/repo.git
https://pytorch.org/home/index.html
https://example.org/home/docs/page
/home/ubuntu/x
/home/user/train.py
/root/x/train.py
imagePullSecrets: regcred-x
imagePullSecrets: regcred-registry
secretName: tls-secret-name
secretKeyRef: hf-token
private_key: /etc/keys/id_rsa
token_file=/var/run/secrets/kubernetes.io/serviceaccount/token
max_tokens=4096
max_tokens: 16384
num_tokens: 123456789 tokens_per_sec=1234 pad_token_id=0 eos_token: 2
max_num_batched_tokens=8192, max_token_len_per_gpu=16384
train_tokens_per_second=55123.7
token/s: 12345.67
tokens: 1048576
total_tokens=1099511627776
tokenizer=AutoTokenizer.from_pretrained(name)
tokenizer: Llama-2-7b-hf
tokenizer_name_or_path=meta-llama/Meta-Llama-3-8B-Instruct
tokenizer_type: GPT2BPETokenizer
--tokenizer-model /data/tokenizer.model
pad_token: <pad>
pad_token: "<pad>"
pad_token='[PAD]', unk_token='[UNK]', mask_token='[MASK]'
eos_token='<|endoftext|>', bos_token="<s>"
eos_token="<|im_end|>"
cls_token: [CLS]
tokenizer.pad_token = tokenizer.eos_token
pad_token=self.pad_index
image_token_index=32000
image_token="<image>"
special_tokens_map={{'pad_token': '<pad>'}}
add_bos_token: true
token_type_ids=None
skip_special_tokens=True
use_auth_token=True
use_auth_token: false
token=None
token=True, trust_remote_code=True
hf_token: Optional[str] = None
token: str | None = None
key=lambda
sorted(x, key=lambda k: k[1])
key=value
dict(key=key, value=value)
primary_key=True
KeyError: 'secret_layer'
KeyError: 'token_embeddings.weight'
Missing key(s) in state_dict: "module.key.weight", "k_proj.bias"
attn.key: torch.Size([768, 768])
self.key = nn.Linear(768, 768)
past_key_values=None
key_padding_mask=mask
query_key_value.weight
num_key_value_heads: 8
head key=decoder.layers.0.self_attn.in_proj_weight
commit {HEX40}
Merge pull request #12 at {HEX40}
deepspeed @ git+https://github.com/deepspeedai/DeepSpeed@0123abcd
torch @ git+https://github.com/pytorch/pytorch@{HEX40}
git version: {HEX40}
wandb: git commit {HEX40}
image: nvcr.io/nvidia/pytorch@sha256:{HEX64}
Digest: sha256:{HEX64}
--hash=sha256:{HEX64}
md5sum 0123456789abcdef0123456789abcdef  model.bin
--world_info=eyJsb2NhbGhvc3QiOiBbMCwgMSwgMiwgM119
world_info=eyJub2RlLTEiOiBbMCwgMSwgMiwgMywgNCwgNSwgNiwgN10sICJub2RlLTIiOiBbMCwgMSwgMiwgMywgNCwgNSwgNiwgN119
GPU-5fa1f2d3-8c1b-4a5e-9d3f-0123456789ab
GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5fa1f2d3-8c1b-4a5e-9d3f-0123456789ab)
MIG-GPU-5fa1f2d3-8c1b-4a5e-9d3f-0123456789ab/1/0
CUDA_VISIBLE_DEVICES=GPU-5fa1f2d3,MIG-1a2b3c4d
run id 5fa1f2d3-8c1b-4a5e-9d3f-0123456789ab
rdzv_id=5fa1f2d3-8c1b-4a5e-9d3f-0123456789ab
--api-key $KEY
--api-key "$OPENAI_API_KEY"
--api-key ${{KEY}}
export HF_TOKEN=$TOKEN
export HF_TOKEN=${{HF_TOKEN:-}}
export HF_TOKEN=<your token>
HF_TOKEN=your_token_here
WANDB_API_KEY=xxxxxxxx
WANDB_API_KEY=********
OPENAI_API_KEY=...
api_key="YOUR_API_KEY"
password=***
password=<redacted>
password: [hidden]
password={{{{ vault_password }}}}
password: !vault
password=os.environ["DB_PASSWORD"]
password=os.getenv("DB_PASSWORD")
password = getpass.getpass()
password=password
token=hf_token
api_key=args.api_key
api_key=self.config.api_key
secret=settings.SECRET
password: str
password=None
password=""
password = ''
"password": null,
passwords do not match
the password is wrong
the password is required here
The token is invalid or expired.
the token is not valid for this repository
a secret in prose is only a word
this is the secret: use fewer workers
the secret is to set NCCL_P2P_DISABLE=1
key insight: the ranks differ
keys: weight, bias
Permission denied (publickey,password).
authentication: none
auth: required
auth=None
author: someone
authority: root
Basic usage: run the script
Bearer of bad news
Basic configuration information follows
Cookie: none
cookies disabled
session: train
session=tf.Session(config=config)
with tf.Session() as session:
0x7f1a2b3c4d5e
frame #0: c10::Error::Error(c10::SourceLocation) + 0x57 (0x7f9a0ad2d617 in /opt/conda/lib/libc10.so)
RIP: 0010:ffffffff8104f23a
[0x7f0123456789] std::terminate()
torch==1.13.1+cu117 on Ubuntu 20.04
nvidia-cublas-cu12==12.1.3.1
nvidia-cudnn-cu11 8.5.0.96
nvidia-cublas-cu11==11.10.3.66
NCCL version 2.18.3.1+cuda12.1
driver 535.104.5, firmware 20.31.1014
torch@2.1.0.post1 user@node01.cluster.local
TORCH_CUDA_ARCH_LIST="6.0;6.1;7.0;7.5;8.0;8.6+PTX"
-gencode=arch=compute_80,code=sm_80
arch list: sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90
NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>
NCCL INFO NET/Socket : Using [0]eth0:192.168.1.17<0> [1]ib0:172.16.4.9<0>
NCCL INFO ncclCommInitRank comm 0x55d0 rank 0 nranks 8 commId 0x8f3a7c91d2e4b650 - Init START
ncclUniqueId 0x1d0a000200a1b2c3d4e5f60718293a4b
connect to 127.0.0.1:29500
tcp://192.168.0.12:23456
[W socket.cpp:601] The client socket has failed to connect to [gpu-01]:29500 (errno: 111 - Connection refused).
[::1]:29500
fe80::1ff:fe23:4567:890a
::ffff:10.0.0.1
MASTER_ADDR=10.1.2.3 MASTER_PORT=29500
http://127.0.0.1:6006/
http://etcd:2379/v2/keys
http://localhost:8265/#/jobs@x
0.0.0.0:8000
255.255.255.0
/usr/lib/python3.8/site-packages/torch/nn/modules/module.py
00000000:3B:00.0 Off | N/A
0000:3b:00.0
tensor([[0.1234, -0.5678, 1.2345e-05]], device='cuda:0', dtype=torch.float16)
tensor([101, 2023, 2003, 1037, 19204, 102])
step 123456789012 loss 2.345
2023-05-03 10:02:31.123456
13958643712 bytes
loss.backward(); optimizer.step()
q@k.transpose(-2, -1)
x = a @ b.T
@torch.no_grad()
@hydra.main(config_path="conf")
memcpy@@GLIBC_2.14
symbol lookup error: undefined symbol: cudaMalloc@libcudart.so.11.0
npm install left-pad@1.3.0
task-scheduler-worker-0123456789abcdef01
disk-0123456789abcdefghij0123
scikit-learn sk-learn-contrib
hf_transformers_model_parallel_checkpoint_loader
hf_AutoModelForCausalLM
hf_config.json hf_hub_download
xoxo-style greeting
dapi = data_api()
pypi-server npm_config_cache
sha512-abcdefghij
\\\\alpha + \\\\beta
re.compile("\\\\w+\\\\s\\\\d")
C:\\Windows\\System32\\nvcuda.dll
C:\\Users\\Public\\x
--master_port 29500 --nproc_per_node 8
-p 2222 -u root
docker run -p 8888:8888 -u 1000:1000 image
mpirun -np 8 -H host1:4,host2:4 -p 22
ssh -p 2222 node2
python -u train.py
torchrun --rdzv_endpoint=host:29400 --rdzv_id=job42
git config credential.helper store
secrets.token_hex(16)
from google.colab import userdata
AssertionError: wrong secret shape torch.Size([2])
self.token_embedding = nn.Embedding(vocab, dim)
authentication token: missing
Token indices sequence length is longer than the specified maximum (1045 > 512)
SSL: CERTIFICATE_VERIFY_FAILED
+1.2345 -0.5678
PASS: qt/test/test_x
See -rpcpassword and -stdinrpcpass. Configuration file: x
Chrome/115.0.0.0 Safari/537.36
Node [Tile@ai.onnx]:(onnx_node!Tile.0)
TEMP_PWD=`pwd`
docker run -v `pwd`:/ray image
PWD=/
ray start --redis-password='the password printed'
--redis-password="password"
HF_TOKEN=XXXXXXXX
gcc main.c -lmysqlclient -pthread
expect "password:"; send "x"
ssh ubuntu@10.0.0.7 hostname
+10 % and +20 %""".split("\n")
