"""Tokens that their beginning gives away, as a table, and the search for them.

Formats: what providers document, and what gitleaks, trufflehog and GitHub's secret scanning know about them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction.rules import Token
from autocompact.core.redaction.spans import Source, Span
from autocompact.core.redaction.values import has_digit, is_strong, mixed, random_looking

_W = "[A-Za-z0-9_-]"
_A = "[A-Za-z0-9]"
_H = "[a-fA-F0-9]"


def _token(
    kind: str,
    prefixes: str,
    *,
    body: str,
    example: str,
    others: str = "",
    dense: bool = False,
    back: int = 0,
) -> Token:
    return Token(
        kind=kind,
        prefixes=tuple(prefixes.split()),
        body=body,
        examples=tuple(example.split()),
        others=tuple(others.split()),
        dense=dense,
        back=back,
    )


TOKENS: tuple[Token, ...] = (
    _token(
        "API key",
        "sk-",
        body=rf"{_W}{{16,}}",
        dense=True,
        example="sk-<a48> sk-proj-<a24>_<a36>-<a20> sk-ant-api03-<a48>-<a20> sk-or-v1-<h64> sk-svcacct-<w74>",
        others="sk-loading-spinner-container-large sk-xxxxxxxxxxxxxxxxxxxxxxxx sk-your-key-here-1234567890123",
    ),
    _token(
        "GitHub token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        body=r"[A-Za-z0-9_]{20,}",
        example="ghp_<a36> gho_<a36> ghs_<a36> github_pat_<a22>_<a59>",
        others="ghp_short ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    ),
    _token(
        "GitLab token",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glsoat- glimt- glagent- gloas- glffct- glwt- GR1348941",
        body=rf"(?={_W}{{0,40}}?(?:\d|[a-z][A-Z])){_W}{{18,}}(?:\.[0-9a-z]{{2}}\.?[0-9a-z]{{7,9}})?",
        example="glpat-<a20> gldt-<a20> glrt-<a20> glcbt-64_<a20> glptt-<h40> glft-<a20> GR1348941<a20>"
        " glpat-<a40>.01.<l9>",
        others="glpat-your-token-goes-here",
    ),
    _token(
        "Slack token",
        "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp- xoxe.xoxp- xoxe.xoxb-",
        body=r"(?:[A-Za-z0-9-]|%2[BbFf]|%3[Dd](?!%)){10,}",
        dense=True,
        example="xoxb-123456789012-<d12>-<a24> xapp-1-A0123456-<d12>-<h64> xoxe.xoxp-1-<a146>",
        others="xoxo-hugs-and-kisses-to-all-of-you xapp-development-environment",
    ),
    _token(
        "AWS key id",
        "AKIA ASIA ABIA ACCA",
        body=r"[A-Z0-9]{16}(?![A-Za-z0-9])",
        example="AKIA<u16> ASIA<u16>",
        others="AKIABCDEFGHIJKLMNOPQRSTUVWX AKIAIOSFODNN7EXAMPLE",
    ),
    _token("AWS key", "ABSK", body=r"[A-Za-z0-9+/]{80,}={0,2}", example="ABSK<a120>="),
    _token(
        "AWS session token",
        "IQoJb3JpZ2lu FwoGZXIvYXdz FQoGZXIvYXdz",
        body=r"[A-Za-z0-9+/]{40,}={0,2}",
        example="IQoJb3JpZ2lu<b300> FwoGZXIvYXdz<b300>",
    ),
    _token(
        "Google key",
        "AIza AQ.",
        body=rf"{_W}{{30,}}",
        example="AIza<a35> AQ.Ab8<a45>",
        others="AIzaShort AQ.short",
    ),
    _token(
        "Google token",
        "ya29.",
        body=r"[A-Za-z0-9_.-]{20,}",
        example="ya29.<a60> ya29.a0AfH6SMB<w60>",
        others="ya29.x",
    ),
    _token("Google key", "GOCSPX-", body=rf"{_W}{{20,}}", example="GOCSPX-<a28>"),
    _token(
        "Stripe key",
        "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_",
        body=r"[A-Za-z0-9]{12,}",
        example="sk_live_<a24> rk_live_<a99> sk_test_<a24>",
        others="sk_live_mode",
    ),
    _token(
        "webhook key",
        "whsec_ svix_",
        body=r"[A-Za-z0-9+/]{20,}={0,2}",
        example="whsec_<a32> whsec_<a16>+<a14>=",
    ),
    _token(
        "npm token",
        "npm_",
        body=r"[A-Za-z0-9]{30,}",
        example="npm_<a36>",
        others="npm_config_registry_is_a_long_name",
    ),
    _token(
        "PyPI token",
        "pypi-",
        body=rf"{_W}{{32,}}",
        dense=True,
        example="pypi-AgEIcHlwaS5vcmc<w160>",
        others="pypi-attestations-are-a-python-package-for-pep-740",
    ),
    _token(
        "Hugging Face token",
        "hf_ api_org_",
        body=r"[A-Za-z0-9]{30,}",
        example="hf_<a34> api_org_<a34>",
        others="hf_hub_download_a_model_file_from_repo",
    ),
    _token(
        "Docker token", "dckr_pat_ dckr_oat_", body=rf"{_W}{{20,}}", example="dckr_pat_<a27> dckr_oat_<a32>"
    ),
    _token("RubyGems key", "rubygems_", body=rf"{_H}{{32,}}", example="rubygems_<h48>"),
    _token(
        "SendGrid key",
        "SG.",
        body=rf"{_W}{{16,}}\.{_W}{{16,}}",
        example="SG.<a22>.<a43> SG.<w22>.<w43>",
        others="SG.Controls.Extensions.Button",
    ),
    _token("Notion token", "ntn_", body=r"[A-Za-z0-9]{30,}", example="ntn_<d11><a35>"),
    _token(
        "Notion token",
        "secret_",
        body=r"[A-Za-z0-9]{40,}",
        dense=True,
        example="secret_<a43>",
        others="secret_access_key_of_the_production_account",
    ),
    _token(
        "Linear key",
        "lin_api_ lin_oauth_ lin_wh_",
        body=r"[A-Za-z0-9]{30,}",
        example="lin_api_<a40> lin_oauth_<h64>",
    ),
    _token(
        "Figma token",
        "figd_ figo_ figp_ figu_ figoh_ figor_",
        body=rf"{_W}{{30,}}",
        dense=True,
        example="figd_<w40>",
    ),
    _token("Groq key", "gsk_", body=r"[A-Za-z0-9]{30,}", example="gsk_<a52>"),
    _token("xAI key", "xai-", body=r"[A-Za-z0-9_]{40,}", example="xai-<a80>"),
    _token("Replicate token", "r8_", body=r"[A-Za-z0-9]{30,}", example="r8_<a37>"),
    _token("Perplexity key", "pplx-", body=r"[A-Za-z0-9]{30,}", example="pplx-<a48>"),
    _token(
        "API key",
        "csk- tgp_v1_ nvapi- jina_ pa- tvly- fc- e2b_ lsv2_pt_ lsv2_sk_ pcsk_ r_sk- wandb_v1_ bb_live_ fal_ together_ dsk- ms-",
        body=rf"{_W}{{24,}}",
        dense=True,
        example="csk-<a48> tgp_v1_<a43> nvapi-<w64> jina_<a60> pa-<a43> tvly-dev-<a32> fc-<h32> e2b_<h40>"
        " lsv2_pt_<h32>_<h10> pcsk_<a6>_<a63>",
        others="fc-button-primary-is-a-long-class-name pa-4-of-the-large-container-element",
    ),
    _token("Fireworks key", "fw_", body=r"[A-Za-z0-9]{20,}", dense=True, example="fw_<a22> fw_<a24>"),
    _token(
        "Honeycomb key",
        "hcaik_ hcxik_ hcalk_ hcxlk_ hcamk_ hcxmk_",
        body=r"[a-z0-9]{50,}",
        example="hcaik_<l58> hcamk_<l58>",
    ),
    _token(
        "NATS seed",
        "SU SA SO SN SC SX",
        body=r"(?=[A-Z]{0,55}[2-7])[A-Z2-7]{56}(?![A-Za-z0-9])",
        example="SUANRPT4TKLAQBBLYF3CLOWVTYASXKTQSK5ST54SIWGEFMI6ASXIJFJ5H4",
        others="SUMMARY_OF_ALL",
    ),
    _token("ElevenLabs key", "sk_", body=r"[a-f0-9]{40,}(?![A-Za-z0-9])", example="sk_<h48>"),
    _token(
        "DigitalOcean token",
        "dop_v1_ doo_v1_ dor_v1_ DO00",
        body=r"[A-Za-z0-9]{16,}",
        dense=True,
        example="dop_v1_<h64> doo_v1_<h64>",
    ),
    _token(
        "Databricks token",
        "dapi dkea dose",
        body=r"[a-f0-9]{32}(?:-\d)?(?![A-Za-z0-9])",
        example="dapi<h32> dapi<h32>-2",
    ),
    _token(
        "PlanetScale token",
        "pscale_tkn_ pscale_pw_ pscale_oauth_",
        body=r"[\w=.-]{30,}",
        dense=True,
        example="pscale_tkn_<w43> pscale_pw_<a43> pscale_oauth_<a43>",
    ),
    _token(
        "New Relic key",
        "NRAK- NRII- NRIQ- NRRA- NRSP- NRJS- NRBR- NRAL-",
        body=rf"{_W}{{18,}}",
        dense=True,
        example="NRAK-<u27> NRII-<a32> NRJS-<h19>",
    ),
    _token("Grafana token", "glsa_", body=rf"{_A}{{20,}}(?:_{_H}{{8}})?", example="glsa_<a32>_<h8>"),
    _token("Grafana token", "glc_", body=r"[A-Za-z0-9+/]{32,}={0,3}", example="glc_eyJ<a90>"),
    _token(
        "Sentry token",
        "sntrys_ sntryu_ sntrya_ sntryi_",
        body=r"[A-Za-z0-9+/=_]{30,}",
        example="sntryu_<h64> sntrys_eyJpYXQiO<a120>_<a43>",
    ),
    _token("webhook key", "SEC", body=r"[a-f0-9]{64}(?![A-Za-z0-9])", example="SEC<h64>"),
    _token(
        "age key",
        "AGE-SECRET-KEY-",
        body=r"[A-Z0-9-]{40,}",
        example="AGE-SECRET-KEY-1<u58> AGE-SECRET-KEY-PQ-1<u58>",
    ),
    _token(
        "Vault token",
        "hvs. hvb. hvr.",
        body=r"[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]{8,})?",
        dense=True,
        example="hvs.<a24> hvs.CAESI<w86> hvb.<a160>",
    ),
    _token(
        "Doppler token",
        "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.",
        body=r"(?:[a-z0-9_-]{2,40}\.)?[A-Za-z0-9]{32,}",
        example="dp.pt.<a43> dp.st.dev_main.<a43>",
    ),
    _token("1Password token", "ops_eyJ", body=r"[A-Za-z0-9+/_-]{80,}={0,3}", example="ops_eyJ<a250>"),
    _token(
        "1Password key",
        "A3-",
        body=r"[A-Z0-9]{6}-[A-Z0-9]{6}(?:-[A-Z0-9]{5}){4}",
        example="A3-<u6>-<u6>-<u5>-<u5>-<u5>-<u5>",
    ),
    _token("Pulumi token", "pul-", body=r"[a-f0-9]{40}", example="pul-<h40>"),
    _token(
        "Shopify token",
        "shpat_ shpca_ shppa_ shpss_ shpua_ shptka_ shltm_",
        body=rf"{_W}{{30,}}",
        dense=True,
        example="shpat_<h32> shpss_<h32> shppa_<h32>",
    ),
    _token(
        "Square token",
        "sq0atp- sq0csp- sq0cst- sq0idb- sandbox-sq0csb- sqco_",
        body=rf"{_W}{{20,}}",
        example="sq0atp-<w22> sq0csp-<w43>",
    ),
    _token("Square token", "EAAAE EAAAl EAAAF", body=rf"{_W}{{55,}}", dense=True, example="EAAAE<a59>"),
    _token(
        "Facebook token", "EAA EAB", body=r"[A-Za-z0-9]{60,}", dense=True, example="EAAC<a160> EAAB<a120>"
    ),
    _token("Twilio key", "SK", body=r"[a-f0-9]{32}(?![A-Za-z0-9_])", example="SK<h32>"),
    _token(
        "Mailgun key",
        "key-",
        body=r"(?:[a-f0-9]{32}|(?=[a-z]*\d)[a-z0-9]{32})(?![A-Za-z0-9_-])",
        example="key-<h32>",
    ),
    _token(
        "Brevo key",
        "xkeysib- xsmtpsib-",
        body=r"[a-f0-9]{40,}(?:-[A-Za-z0-9]{12,})?",
        example="xkeysib-<h64>-<a16>",
    ),
    _token(
        "Resend key",
        "re_",
        body=r"[A-Za-z0-9]{8,}_[A-Za-z0-9]{16,}(?![A-Za-z0-9_])",
        dense=True,
        example="re_<a8>_<a24>",
    ),
    _token(
        "API key",
        "mlsn. PMAK- PMAT-",
        body=rf"{_W}{{30,}}",
        dense=True,
        example="mlsn.<h64> PMAK-<h24>-<h34>",
    ),
    _token(
        "API token",
        "access-production- access-sandbox- access-development- RGAPI-",
        body=rf"{_H}{{8}}(?:-{_H}{{4}}){{3}}-{_H}{{12}}",
        example="access-production-<h8>-<h4>-<h4>-<h4>-<h12>",
    ),
    _token("Razorpay key", "rzp_live_ rzp_test_", body=r"[A-Za-z0-9]{14,}", example="rzp_live_<a14>"),
    _token(
        "Flutterwave key",
        "FLWSECK_TEST- FLWSECK- FLWPUBK_TEST-",
        body=r"[A-Za-z0-9]{12,}(?:-X)?",
        example="FLWSECK-<h32>-X",
    ),
    _token("Airtable token", "pat", body=r"[A-Za-z0-9]{14}\.[a-f0-9]{40,}", example="pat<a14>.<h64>"),
    _token(
        "Atlassian token",
        "ATATT3 ATCTT3 ATSTT3 ATBB ATOATT BBDC-",
        body=r"[A-Za-z0-9_+/=-]{20,}",
        dense=True,
        example="ATATT3xFfGF0<w170> ATBB<a32> ATCTT3xFfGN0<w170>",
    ),
    _token("Dropbox token", "sl.", body=rf"{_W}{{60,}}", dense=True, example="sl.<w130>"),
    _token("Dropbox token", "sl.u.", body=rf"{_W}{{60,}}", dense=True, example="sl.u.<w130>"),
    _token(
        "Mapbox token",
        "sk.eyJ",
        body=r"[A-Za-z0-9_-]{30,}(?:\.[A-Za-z0-9_-]{16,})?",
        example="sk.eyJ<a80>.<a22>",
    ),
    _token(
        "Twitter token",
        "AAAAAAAAAAAAAAAAAAAAA",
        body=r"(?:[A-Za-z0-9]|%2[BbFf]|%3[Dd](?!%)){60,}",
        dense=True,
        example="AAAAAAAAAAAAAAAAAAAAA<a80> AAAAAAAAAAAAAAAAAAAAA<a30>%2B<a50>",
    ),
    _token(
        "Supabase key",
        "sbp_ sb_secret_",
        body=rf"{_W}{{28,}}",
        dense=True,
        example="sbp_<h40> sb_secret_<a22>_<a8>",
    ),
    _token("Netlify token", "nfp_ nfo_ nfc_ nfu_", body=r"[A-Za-z0-9]{32,}", example="nfp_<a36>"),
    _token(
        "Vercel token",
        "vcp_ vci_ vca_ vcr_ vck_ vercel_blob_rw_",
        body=r"[A-Za-z0-9_]{24,}",
        dense=True,
        example="vcp_<a56> vck_<a56> vercel_blob_rw_<a16>_<a30>",
    ),
    _token("Cloudflare token", "cfk_ cfut_ cfat_", body=r"[A-Za-z0-9]{40,}", example="cfk_<a48> cfut_<a48>"),
    _token("Cloudflare key", "v1.0-", body=r"[a-f0-9]{24}-[a-f0-9]{100,}", example="v1.0-<h24>-<h146>"),
    _token(
        "Heroku key", "HRKU-", body=rf"{_W}{{30,}}", example="HRKU-AA<w58> HRKU-<h8>-<h4>-<h4>-<h4>-<h12>"
    ),
    _token("Neon key", "napi_", body=r"[a-z0-9]{40,}", example="napi_<l64>"),
    _token(
        "Fly token",
        "fo1_ fm1a_ fm1r_ fm2_",
        body=r"[A-Za-z0-9+/_-]{40,}={0,3}",
        example="fo1_<w43> fm2_<a20><b140>",
    ),
    _token("Render key", "rnd_", body=r"[A-Za-z0-9]{24,}", example="rnd_<a32>"),
    _token(
        "Tailscale key",
        "tskey-",
        body=r"[a-z]{2,12}-[A-Za-z0-9]{8,}(?:-[A-Za-z0-9]{16,})?",
        example="tskey-auth-<a17>-<a32> tskey-api-<a17>-<a32>",
    ),
    _token("CircleCI token", "CCIPAT_ CCIPRJ_", body=r"[A-Za-z0-9_]{30,}", example="CCIPAT_<a22>_<h40>"),
    _token("Buildkite token", "bkua_ bkct_ bkpt_", body=r"[a-z0-9]{30,}", example="bkua_<h40>"),
    _token("SonarQube token", "sqp_ squ_ sqa_", body=r"[a-f0-9]{40}", example="squ_<h40>"),
    _token(
        "JFrog token",
        "AKCp cmVmdGtu",
        body=r"[A-Za-z0-9]{50,}",
        dense=True,
        example="AKCp<a69> cmVmdGtu<a56>",
    ),
    _token("NuGet key", "oy2", body=r"[a-z0-9]{43}(?![A-Za-z0-9])", example="oy2<l43>"),
    _token(
        "crates.io token",
        "cio",
        body=r"(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{32}(?![A-Za-z0-9_-])",
        dense=True,
        example="cio<a32>",
    ),
    _token("Clojars token", "CLOJARS_", body=r"[a-z0-9]{50,}", example="CLOJARS_<l60>"),
    _token(
        "HubSpot token",
        "pat-na1- pat-eu1- pat-na2- pat-ap1-",
        body=rf"{_H}{{8}}(?:-{_H}{{4}}){{3}}-{_H}{{12}}",
        example="pat-na1-<h8>-<h4>-<h4>-<h4>-<h12>",
    ),
    _token(
        "Dynatrace token",
        "dt0c01. dt0s01. dt0s16.",
        body=r"[A-Z0-9]{8,24}\.[A-Z0-9]{40,}",
        example="dt0c01.<u24>.<u64>",
    ),
    _token(
        "Alibaba key id", "LTAI", body=r"[A-Za-z0-9]{12,24}(?![A-Za-z0-9])", dense=True, example="LTAI5t<a18>"
    ),
    _token("Tencent key id", "AKID", body=r"[A-Za-z0-9]{32}(?![A-Za-z0-9])", dense=True, example="AKID<a32>"),
    _token("Yandex token", "y0_ AQVN", body=rf"{_W}{{35,}}", dense=True, example="y0_<a55> AQVN<w36>"),
    _token(
        "API key",
        "pnu_ rdme_ shippo_live_ shippo_test_ duffel_live_ duffel_test_ sgp_ tfp_ CFPAT- ico- fio-u- phx_ phs_ sm_pat_ sm_sat_ sm_aat_ tk-us-"
        " rootly_ slk_ ak_live_ ATTA dt0c02. sdk- api- mob- patlive_ cal_live_ nsec1 sig_live_ pk_prod_ ddp_ ddapp_ dd_app_ pd_ sess- lpk_ apify_api_ apf_"
        " CCDB1_ api_live. api_sandbox. EZAK EZTK rpa_ fxa_ trigger_dev_ tr_prod_ inngest_ signkey-prod- clh_ nylas_ ory_at_ ory_pat_ zat_ posthog_",
        body=rf"{_W}{{24,}}",
        dense=True,
        example="pnu_<a36> rdme_<l70> shippo_live_<h40> duffel_live_<a43> CFPAT-<w43> phx_<a43> apify_api_<a36> ATTA<h72> EZAK<a54> rpa_<a40>",
        others="sdk-for-the-android-platform-and-others api-reference-of-the-whole-library-2 sess-management-and-cookies",
    ),
    _token("Kubernetes token", "ghk_ k8s-aws-v1.", body=rf"{_W}{{30,}}", example="k8s-aws-v1.<w160>"),
    _token(
        "private key",
        "LS0tLS1CRUdJTi",
        body=r"(?!BDRVJUS|BQVUJMSU|BYNTA5|BORVcg|BSU0EgUFVC|BQR1AgUFVC|BTU0gyIFBVQ)[A-Za-z0-9+/]{40,}={0,2}",
        example="LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0t<b120> LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVk<b120>",
        others="LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUNVVENDQWZ1Z0F3SUJBZ0lCQURBTkJna3Foa2l",
    ),
    _token(
        "Mailchimp key",
        "us",
        body=r"(?<=[a-f0-9]{32}-us)\d{1,2}(?![\w-])",
        back=33,
        example="<h32>-us14 <h32>-us6",
    ),
    _token(
        "Terraform token",
        "atlasv1.",
        body=r"(?<=[A-Za-z0-9]{14}\.atlasv1\.)[\w=-]{40,}",
        back=15,
        example="<a14>.atlasv1.<a67>",
    ),
    _token(
        "MaxMind key",
        "mmk",
        body=r"(?<=[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk)(?!\w)",
        back=37,
        example="<a6>_<a29>_mmk",
    ),
    _token(
        "JWT",
        "eyJ",
        body=r"[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?|[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){4}",
        example="eyJhbGciOiJIUzI1NiJ9.eyJ<a40>.<w43> eyJhbGciOiJkaXIiLCJlbmMi<a20>..<a16>.<w60>.<a22>",
        others="eyJhbGciOiJIUzI1NiJ9",
    ),
    # ASP.NET's protected data: 09 F0 C9 F0, then the number of its key
    _token("session", "CfDJ8", body=r"[\w-]{60,}", example="CfDJ8<w160>", others="CfDJ8"),
    _token("Grafana key", "eyJrIjoi", body=r"[A-Za-z0-9]{60,}={0,3}", example="eyJrIjoi<a90>"),
)

DISCORD = Token(
    kind="Discord token",
    prefixes=(),
    body=r"(?:(?<![A-Za-z0-9])|(?<=%3D)|(?<=%3d)|(?<=\dm)|(?<=\\n))[MNO][A-Za-z0-9_-]{21,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{25,42}(?![A-Za-z0-9_.-])",
    examples=("M<a23>.<a6>.<w27>", "N<a25>.<a6>.<w38>"),
    others=("My_module_name_with_some_words.module.a_function_with_a_long_name",),
)
"""A Discord bot's token has no prefix, but a form of its own: the number of the bot, a time and a signature."""
_RECOVERY = Token(
    kind="recovery key",
    prefixes=(),
    body=r"(?:(?<![A-Za-z0-9-])|(?<=%3D)|(?<=%3d)|(?<=\dm)|(?<=\\n))\d{6}(?:-\d{6}){7}(?![\w-])",
    examples=("<d6>-<d6>-<d6>-<d6>-<d6>-<d6>-<d6>-<d6>",),
    others=("123456-123456", "2024-01-02-123456"),
)
"""BitLocker's key of 48 digits."""
_DASHES = 7
_MYSQL = Token(
    kind="password hash",
    prefixes=(),
    body=r"\*(?=[A-F]{0,39}\d)[0-9A-F]{40}(?![\w*])",
    examples=("*0E199151EF05738B8D7349550554F8FC34E4E156",),
    others=("*<h40>*", "| *see* |"),
)
"""MySQL's hash of a password, behind an asterisk."""
_MAILGUN = Token(
    kind="Mailgun key",
    prefixes=(),
    body=r"(?:(?<![A-Za-z0-9-])|(?<=%3D)|(?<=%3d)|(?<=\dm)|(?<=\\n))[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])",
    examples=("<h32>-<h8>-<h8>",),
    others=("<h32>-<h8>",),
)
SHAPED = (DISCORD, _RECOVERY, _MYSQL, _MAILGUN)
_SHORTEST, _LONGEST = 40, 110

UNKNOWN = Token(
    kind="token",
    prefixes=(),
    body=r"[A-Za-z0-9]{20,}",
    examples=tuple(
        "acme_sk_<a32> zpka_<a32>_<h8> tok_live_<a24> mk_live_<a24> ek_<a40> fk_prod_<a32> lm_sk_<a32>"
        " brk_<a40> hcp.<a14>.<a40> acme-key-<a32> lm_pat_<l32> srv-token-<l24>".split()
    ),
    others=tuple(
        "toolu_01<a22> msg_01<a22> resp_<h48> chatcmpl-<a29> cs_test_a1<a58> sha256-<a43> vendor-<h40>.js pk_live_<a40>"
        " cache-key-<h64> user_<a27> request-id-<a40> test_the_name_of_some_function_that_is_long_2 page-<h32>.chunk.js".split()
    ),
)
"""A token of a provider that the table does not know: short words, of which one says that it is a key, before what is made up."""
_MARK = LazyPattern(
    r"(?:[a-z]{0,6}(?:sk|rk)|ak|ek|mk|lk|nk|uk|dk|tk|at|rt|[a-z]{0,8}(?:key|tok|token|secret|pat|pwd|auth|cred)|sec|live|prod|test|svc|api|bot|admin|service|v\d)$"
)
"""A word before a token that says what it is."""
_PLAIN_MARK = frozenset("test api bot admin service v1 v2 v3 at".split())
"""Words of which many other names are made, too: behind them small letters alone say nothing."""
_HEAD = LazyPattern(r"(?:\w+[.=])?(?P<words>(?:[a-z]{1,10}\d{0,2}[_.-]){1,4}(?:[A-Za-z0-9]{6,19}[_.-])?)$")
_IDS = frozenset(
    "toolu msg req request call chatcmpl cmpl resp response rs fc cs pi seti ch in cus sub evt event price file batch run step thread asst vs"
    " ft org proj project user usr team acct account id uuid sha sha1 sha256 sha384 sha512 md5 h1 nonce rev etag trace span gen conv message item"
    " page chunk index bundle asset cache pk pub public publishable hash digest checksum build commit image layer node job task workflow"
    " phc execution upload blob object version release artifact snapshot ws conn stream prod_id invoice order txn payment charge".split()
)
"""Words before the number of a record, a digest or a key that is public."""


# The search ------------------------------------------------------------------------------------------------

_CLASSES = bytes(
    ord("a") if chr(i).isascii() and (chr(i).isalnum() or chr(i) in "_-.") else ord(" ") for i in range(256)
)
# Sixteen literals, since `re` looks for a literal beginning with the algorithm of Knuth, Morris and Pratt: one reading.
_RUNS = re.compile(b"a" * 16 + b"a*")
# What of a run belongs to the escape before it: %3D, a colour's [32m, a JSON string's \n.
_ESCAPES = {
    "%": re.compile(r"[0-9A-Fa-f]{2}"),
    "[": re.compile(r"\d{0,3}m"),
    ";": re.compile(r"\d{1,3}m"),
    "\\": re.compile(r"[abefnrtv]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}"),
}
_RUN = LazyPattern(r"[A-Za-z0-9]{12,}")
_BODY = LazyPattern(r"(?<![A-Za-z0-9])[A-Za-z0-9]{20,}")
_REST = LazyPattern(r"[A-Za-z0-9_-]*(?<=[A-Za-z0-9])")
_HEX = frozenset("0123456789abcdef")
_FILLED = LazyPattern(
    r"x{6}|X{6}|EXAMPLE|\*{3}|(?:^|[_-])(?:your|placeholder|example|redacted)(?:$|[_-])|^(.)\1{9}|(?i:1234567890abcdef1234567890|abcdefghijklmnopqrstuv)"
)
_SAMPLE = LazyPattern(r"abc|123|xyz|xxx", re.IGNORECASE)
_CUT = LazyPattern(r"[A-Za-z0-9_-]{5,80}+(?=…|\.\.\.)")


def _by_prefix() -> tuple[str, dict[str, list[Token]]]:
    """The prefixes as a pattern that compares each first character once, and the rows of each prefix."""
    rows: defaultdict[str, list[Token]] = defaultdict(list)
    for row in TOKENS:
        for prefix in row.prefixes:
            rows[prefix].append(row)
    by_first: defaultdict[str, list[str]] = defaultdict(list)
    for prefix in sorted(rows, key=len, reverse=True):
        by_first[prefix[0]].append(re.escape(prefix[1:]))
    branches = (f"{re.escape(first)}(?:{'|'.join(rests)})" for first, rests in by_first.items())
    return f"(?P<prefix>{'|'.join(branches)})", dict(rows)


_PREFIXES, _ROWS = _by_prefix()
_FIRST = LazyPattern(_PREFIXES)
_WITHIN = LazyPattern(rf"(?P<before>[_.-]){_PREFIXES}")


_FUSED = LazyPattern(
    rf"(?<=[a-z0-9])(?:{'|'.join(re.escape(each) for each in _ROWS if len(each) > 3 and each[-1] in '_-')})$"
)


def find_tokens(source: Source) -> Iterator[Span]:
    """The tokens that begin with a prefix of the table."""
    text, done = source.text, 0
    classes = source.lower.translate(_CLASSES)
    for run in _RUNS.finditer(classes):
        start, end = run.span()
        if end <= done:
            continue
        if _SHORTEST <= end - start <= _LONGEST:
            yield from _shaped(text, start, end=end)
        position = max(start, done)
        failed: dict[str, int] = {}
        for found in _prefixes(text, position, end=end):
            span = _token_at(text, found, failed=failed) if found.start("prefix") >= done else None
            if span is not None:
                yield span
                done = span.end
        if done <= start and (body := _BODY.search(text, start, end)) is not None:
            yield from _unknown(text, start, body=body, end=end)


def _prefixes(text: str, start: int, *, end: int) -> Iterator[re.Match[str]]:
    """Where a prefix stands in a run: behind an escape, at its beginning, and behind a sign."""
    escaped = _after_escape(text, start)
    if escaped > start and (found := _FIRST.match(text, escaped)) is not None:
        yield found
    if (found := _FIRST.match(text, start)) is not None:
        yield found
    position = start
    while (found := _WITHIN.search(text, position, end)) is not None:
        yield found
        position = found.start("prefix")


def _after_escape(text: str, start: int) -> int:
    """Where a run begins without what belongs to the escape before it."""
    escape = _ESCAPES.get(text[start - 1 : start])
    escaped = escape.match(text, start) if escape is not None else None
    return escaped.end() if escaped is not None else start


def _token_at(text: str, found: re.Match[str], *, failed: dict[str, int]) -> Span | None:
    """The token that begins with this prefix.

    ``failed`` has how far the last body behind each prefix reached that was not made up: what begins inside it is not
    read again, which keeps "sk-sk-sk-…" linear.
    """
    start, after = found.span("prefix")
    if start < failed.get(found["prefix"], 0):
        return None
    for row in _ROWS[found["prefix"]]:
        # "task-sk-…" is a word with hyphens: only a longer prefix may stand after one.
        if after - start < 4 and not row.back and text[start - 1 : start] == "-":
            continue
        match = row.pattern.match(text, after)
        if match is not None and _is_made_up(match[0], dense=row.dense):
            return Span(start=start - row.back, end=match.end(), kind=row.kind)
        if match is not None:
            failed[found["prefix"]] = match.end()
    cut = _CUT.match(text, after)
    if (
        cut is not None
        and after - start >= 4
        and not _SAMPLE.search(cut[0])
        and has_digit(cut[0])
        and _is_made_up(cut[0], dense=False)
    ):
        return Span(start=start, end=cut.end(), kind=_ROWS[found["prefix"]][0].kind)
    return None


def _unknown(text: str, start: int, *, body: re.Match[str], end: int) -> Iterator[Span]:
    """The token whose words no table knows, from the first of them to its last letter."""
    head = _HEAD.match(text, _after_escape(text, start), body.start())
    if head is None or not _is_key_of(head["words"], body[0]):
        return
    rest = _REST.match(text, body.end(), end)
    yield Span(
        start=head.start("words"), end=rest.end() if rest is not None else body.end(), kind=UNKNOWN.kind
    )


def _is_key_of(words: str, body: str) -> bool:
    first, *more = re.split(r"[_.-]", words[:-1])
    if _FILLED.search(body) or not _IDS.isdisjoint((first, *more)):
        return False
    if _FUSED.search(words):
        return False  # the end of another text, and a token that the table knows
    marks = [word for word in (first, *more) if _MARK.match(word)]
    if any(word not in _PLAIN_MARK for word in marks) and not set(body) <= _HEX:
        return mixed(body) and random_looking(body)
    return is_strong(body) and len(body) >= (20 if marks else 30)


def _is_made_up(body: str, *, dense: bool) -> bool:
    if _FILLED.search(body):
        return False
    return not dense or any(map(mixed, _RUN.findall(body))) or (mixed(body) and random_looking(body))


def _shaped(text: str, start: int, *, end: int) -> Iterator[Span]:
    """A token without a prefix, alone in its run: of three parts, of hexadecimal parts, of eight groups of digits, behind an asterisk."""
    if text.count(".", start, end) >= 2:
        for match in DISCORD.pattern.finditer(text, start, end):
            if _is_made_up(match[0], dense=True):
                yield Span(start=match.start(), end=match.end(), kind=DISCORD.kind)
    if text[start - 1 : start] == "*" and (match := _MYSQL.pattern.match(text, start - 1)) is not None:
        yield Span(start=match.start(), end=match.end(), kind=_MYSQL.kind)
    if text.count("-", start, end) > 1 and (match := _MAILGUN.pattern.search(text, start, end)) is not None:
        yield Span(start=match.start(), end=match.end(), kind=_MAILGUN.kind)
    if text.count("-", start, end) >= _DASHES:
        for match in _RECOVERY.pattern.finditer(text, start, end):
            yield Span(start=match.start(), end=match.end(), kind=_RECOVERY.kind)
