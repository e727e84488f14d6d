//! Words of generated text.
//!
//! Every word is one token in `o200k_base` (and in `cl100k_base`) in each place
//! where the generator puts it, so that text of a stated number of tokens can be
//! made without a tokenizer. A test in `generate` counts.

/// Common English words: one token with and without a leading blank, in
/// lowercase and capitalised.
pub(super) const PROSE: &str = "\
time year people way day man thing woman life child world school state family student group \
country problem hand part place case week company system program question work government number \
night point home water room mother area money story fact month lot right study book eye job word \
business issue side kind head house service friend father power hour game line end member law \
car city community name team minute body information back parent face level office door health \
person art history party result change reason research moment air teacher force education foot \
age policy music market sense nation plan college interest experience effect use class control \
field development role rate heart show leader light voice mind price report decision son view \
relationship town road arm difference value building action season tax director position player \
record paper space ground form event official center site project activity star table need court \
oil cost industry figure street image phone data picture practice piece land product doctor wall \
patient worker news test movie north love support technology step baby computer type attention \
film tree source organization hair look window culture energy period course summer plant term \
letter condition choice rule south floor campaign material population medical hospital church \
risk fire future security bank west sport board subject rest behavior performance fight top goal \
second bed order author agency nature color store sound movement page race series language \
response animal factor article east artist scene stock career size fund media sign thought list \
individual quality pressure answer resource meeting success amount ability staff character loss \
degree region box training trade deal standard bill message analysis section glass skill \
operation stage authority design sort knowledge station strategy truth song example environment \
leg dark public require follow early clear simple large small common strong possible special \
whole hard free full great good high old new long little own other big different local social \
important national young few late general real best better low open human recent available short \
single personal current red blue green white black natural main similar final major happy ready \
left physical deep cold close fine hot warm dry fresh quick slow quiet bright sharp soft heavy \
modern leave feel bring begin keep hold write stand let mean set meet run pay sit lie lead read \
grow fall send build draw break cut drive buy choose seek throw catch win eat sing move live \
provide include continue learn watch stop create allow add walk offer remember consider serve \
expect stay reach raise pass sell return hope develop receive hit cover describe share cause \
join claim note the of and to in is for on with as at by from that this which when where while \
after before under over between through during without within against";

/// Names of variables: one token with a leading blank, `(` or `.`.
pub(super) const CODE: &str = "\
data value name key index item list text result input output count size line path file node type \
state user time row col start end left right next total sum max min width height length source \
target string number array object table message request response query params config options \
token buffer stream event error status code level depth offset limit page view model label group \
tag field record entry point score weight date day month year first last current new old base \
parent child root tree graph edge map set queue stack head body header content title url host \
port session cache store client server handler callback context scope frame image color";
